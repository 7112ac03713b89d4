#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/clock_bounds.hpp"
#include "comm/mpi_session.hpp"
#include "comm/pending_messages.hpp"
#include "comm/root_heartbeat.hpp"
#include "comm/serve.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Another rank has failed and reported why.
class RemoteFailure : public std::runtime_error {
public:
    RemoteFailure(int rank, const std::string& text) : std::runtime_error(text), rank_(rank) {}
    [[nodiscard]] int rank() const noexcept { return rank_; }

private:
    int rank_;
};

/// Rank 0's end of the messages with all other ranks.
class MpiRemoteHub final : public RemoteHub {
public:
    /// `session`, `server` and `trace` outlive it. `devices_of_rank` has an entry per rank, including rank 0. Ranks of
    /// `shared` get no items, but where these lie in its memory.
    MpiRemoteHub(MpiSession& session, ChunkServer& server, CommTrace& trace, const MessageShape& shape,
                 const std::vector<std::uint32_t>& devices_of_rank, std::uint32_t staged, std::uint32_t window,
                 SharedItems shared = {});
    ~MpiRemoteHub() override;

    /// Throws RemoteFailure.
    [[nodiscard]] bool progress() override;
    void send(const Grant& grant) override;
    [[nodiscard]] bool all_closed() const override;
    [[nodiscard]] bool in_transit() const override { return !pending_.empty() || fetching_ != 0; }
    [[nodiscard]] StopCause stop() const override { return stop_; }
    void announce_drain() override;
    [[nodiscard]] std::optional<int> find_silent(std::chrono::nanoseconds longest) const override;

    /// Rank 0's heartbeats: progress() sends them, several per second once the run drains.
    [[nodiscard]] RootHeartbeat& heartbeats() noexcept { return heartbeats_; }

    /// Tells all ranks that nothing follows, and the exit code for those that are not done. Call once. Waits briefly
    /// for the messages to leave; never throws, since a rank may be gone.
    void end_ranks(ExitCode code) noexcept;

    /// Traffic to, or from, one rank.
    struct Traffic {
        // Readable from any thread: an abrupt end of the run is reported by another one.
        std::atomic<std::uint64_t> bytes{0};                                  ///< Of completed items, or outputs.
        std::atomic<std::chrono::nanoseconds> busy{std::chrono::seconds(0)};  ///< With at least one chunk in transit.

        std::uint32_t under_way = 0;  ///< Chunks in transit.
        Instant since{};              ///< When `under_way` became nonzero.
    };
    [[nodiscard]] const std::vector<Traffic>& sent() const noexcept { return sent_; }          ///< By rank.
    [[nodiscard]] const std::vector<Traffic>& received() const noexcept { return received_; }  ///< By rank.

    /// Clock bounds from the messages of each rank so far; by rank.
    [[nodiscard]] std::span<const ClockBounds> clock_bounds() const noexcept { return clock_bounds_; }

private:
    enum class What : std::uint8_t { control, grant, result };
    struct Note {
        What what = What::control;
        std::size_t index = 0;  // control: buffer; grant, result: slot
    };
    /// One slot of one device of one other rank.
    struct SlotState {
        ControlMessage head{};
        std::size_t grant_messages = 0;
        Chunk result{};
        std::uint64_t checksum = 0;  // of the outputs
        std::size_t result_messages = 0;
        int rank = 0;
        Instant grant_begun{};
        Instant result_begun{};
    };

    [[nodiscard]] bool finish_messages();
    void listen(std::size_t index);
    void take(int rank, const ControlMessage& message);
    void receive_result(int rank, const ControlMessage& message);
    void finish_grant(SlotState& slot);
    void finish_result(SlotState& slot);
    [[noreturn]] void throw_failure_of(int rank, std::uint32_t length);
    [[nodiscard]] std::size_t slot_index(int rank, std::uint32_t device, std::uint32_t slot) const;

    MpiSession& session_;
    ChunkServer& server_;
    CommTrace& trace_;
    MessageShape shape_;
    SharedItems shared_;
    std::vector<std::size_t> first_slot_of_rank_;
    std::vector<std::uint32_t> devices_of_rank_;
    std::vector<SlotState> slots_;
    std::vector<ControlMessage> controls_;
    PendingMessages<Note> listening_;  // receives of control messages, always posted
    PendingMessages<Note> pending_;    // grants and results
    std::vector<ClockBounds> clock_bounds_;
    std::vector<Traffic> sent_;
    std::vector<Traffic> received_;
    std::size_t fetching_ = 0;  // chunks that ranks copy, granted but not fetched yet
    int open_ranks_;
    StopCause stop_{};
    std::vector<bool> closed_;                          // one per rank
    std::vector<std::chrono::nanoseconds> last_heard_;  // per rank, by clock_
    std::vector<bool> heard_;                           // false: the rank is still preparing and holds nothing
    std::chrono::nanoseconds clock_{0};                 // stops while this thread does not run
    Instant last_progress_ = Clock::now();
    RootHeartbeat heartbeats_;
    ControlMessage drain_{};
    ControlMessage end_{};
    std::vector<MPI_Request> told_;  // of drain_ and end_
};

}  // namespace sluice
