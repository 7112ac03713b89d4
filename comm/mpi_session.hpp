#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/error.hpp"

namespace sluice {

/// Throws Error (communication) that names `call` unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

/// The MPI library's description of itself in one line: "Open MPI v4.1.4, package: …". Needs no session.
[[nodiscard]] std::string mpi_library();

/// A thread that ends this process when the parent process ends, with E-MPI-145 and exit code 76, and lets it die of
/// SIGTERM and SIGINT, although they are blocked. Needed during MPI_Init: there Open MPI 4.1 waits forever for a killed
/// launcher or rank, and nobody takes signals yet.
[[nodiscard]] std::jthread watch_start();

/// A thread that ends this process once it has run for `longest`, with E-RUN-076 and exit code 76. Needed at the end:
/// MPI waits forever for a rank that is stopped there, and so does the launcher. Time in which this process does not
/// run is not counted.
[[nodiscard]] std::jthread watch_end(std::chrono::nanoseconds longest);

/// MPI from init to finalize, for the constructing thread only (funneled). Collective calls sleep while they wait: an
/// early rank uses no core.
class MpiSession {
public:
    /// Throws Error (unavailable) when MPI provides less than MPI_THREAD_FUNNELED, Error (configuration) when Slurm
    /// started more tasks than MPI knows of.
    MpiSession();
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] int node_rank() const noexcept { return node_rank_; }  ///< Among the ranks of this node.
    [[nodiscard]] int node_size() const noexcept { return node_size_; }
    [[nodiscard]] MPI_Comm world() const noexcept { return world_; }  ///< A duplicate, for sluice alone.
    [[nodiscard]] MPI_Comm node() const noexcept { return node_; }    ///< The ranks that share this one's memory.

    /// From rank 0 to all ranks.
    void broadcast(std::string& text);
    void broadcast_number(std::int64_t& number);

    /// All ranks' texts, in rank order, on rank 0; empty elsewhere.
    [[nodiscard]] std::vector<std::string> gather(const std::string& text);

    /// All ranks' numbers, in rank order, on every rank.
    [[nodiscard]] std::vector<int> all_gather(int number);

    /// The least of all ranks' numbers, on every rank.
    [[nodiscard]] std::int64_t least(std::int64_t number);

    /// Texts of all ranks of this node, in the order of node_rank().
    [[nodiscard]] std::vector<std::string> node_all_gather(const std::string& text);

    void barrier();
    void node_barrier();  ///< Of the ranks of this node.

    // A message from one rank to another. begin_send() and begin_receive() need their bytes until `request` is
    // complete.
    void send(std::span<const std::byte> bytes, int to, int tag);
    void receive(std::span<std::byte> bytes, int from, int tag);
    void begin_send(std::span<const std::byte> bytes, int to, int tag, MPI_Request& request);
    void begin_receive(std::span<std::byte> bytes, int from, int tag, MPI_Request& request);

    /// Ends all ranks at once with `code`.
    [[noreturn]] void abort(ExitCode code);

    /// How long ranks wait for each other in MPI_Finalize; 0: forever.
    void set_patience(std::chrono::nanoseconds patience) noexcept { patience_ = patience; }

    /// watch_end() for that long, on one rank after the other, if there are several. For ranks that have nothing left
    /// to do.
    [[nodiscard]] std::jthread watch_others_end() const;

private:
    static constexpr std::chrono::seconds usual_patience{300};
    int rank_ = 0;
    int size_ = 1;
    int node_rank_ = 0;
    int node_size_ = 1;
    MPI_Comm world_ = MPI_COMM_NULL;
    MPI_Comm node_ = MPI_COMM_NULL;
    std::chrono::nanoseconds patience_ = usual_patience;
};

/// Waits for `request`, sleeping between polls; true when it completed, false after `at_most`.
[[nodiscard]] bool wait_asleep(MPI_Request& request, std::chrono::nanoseconds at_most);
void wait_asleep(MPI_Request& request);

/// Starts the nonblocking `call` by `begin(&request)`, and sleeps until it is complete.
template <class Begin>
void complete_asleep(const char* call, Begin begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(begin(&request), call);
    wait_asleep(request);
}

/// The bytes of a value, which are sent as they are: all ranks run the same build.
template <class Value>
[[nodiscard]] std::span<const std::byte> raw_bytes(const Value& value) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    return std::as_bytes(std::span(&value, 1));
}
template <class Value>
[[nodiscard]] std::span<std::byte> raw_bytes(Value& value) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    return std::as_writable_bytes(std::span(&value, 1));
}

/// Broadcasts `bytes` from rank 0 of `comm`, in messages of at most 64 MiB. Collective; sleeps while waiting.
void broadcast_asleep(MPI_Comm comm, std::span<std::byte> bytes);

}  // namespace sluice
