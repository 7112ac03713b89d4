#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <string>
#include <string_view>

#include "comm/endpoint.hpp"
#include "core/error.hpp"
#include "core/sync/turn.hpp"
#include "core/system/node_memory.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

class MpiSession;

/// What one rank is doing, readable by the other ranks of its node even after its death.
struct RankEntry {
    static constexpr std::uint64_t no_chunk = UINT64_MAX;
    static constexpr std::size_t most_open = 64;

    std::atomic<std::int32_t> pid{0};         ///< 0: not set yet.
    std::atomic<std::uint64_t> pid_space{0};  ///< Inode of the namespace that counts it; set before it.
    std::atomic<std::int32_t> rank{0};
    std::atomic<std::uint32_t> ended{0};          ///< 1: it ended on its own.
    std::atomic<ExitCode> code{ExitCode::ok};     ///< Its exit code, if it ended before the run's end.
    std::atomic<std::uint64_t> chunk{no_chunk};   ///< The oldest undelivered chunk that it was granted.
    std::atomic<Stage> stage{Stage::scatter};     ///< Of `chunk`: compute (all from its grant on), or gather.
    std::atomic<std::uint32_t> beat{0};           ///< Increases while its process runs at all; 0: not watched yet.
    std::atomic<std::uint32_t> heartbeats{0};     ///< Increases while its devices make progress: heartbeats for rank 0.
    std::atomic<std::uint32_t> stuck{0};          ///< 1: one of its threads hangs.
    std::atomic<std::uint64_t> root_messages{0};  ///< Increases with each message from rank 0; 0: none is expected.
    Turn turn{};                                  ///< At starting its GPUs.

    /// Undelivered chunks that it was granted; at most most_open.
    std::array<std::atomic<std::uint64_t>, most_open> open{};
    std::atomic<std::uint32_t> open_count{0};

    /// Calls `visit(chunk)` for each open chunk; async-signal-safe if `visit` is.
    template <class Visit>
    void for_each_open(Visit visit) const noexcept {
        const std::uint32_t count = open_count.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < count; ++i) {
            visit(open[i].load(std::memory_order_relaxed));
        }
    }

    /// Marks the rank as ended.
    void end_with(ExitCode with) noexcept {
        code.store(with);
        ended.store(1);
    }

    /// Posts what its threads are doing, a line each, truncated if long. Called by one thread.
    void say(std::string_view lines) noexcept;
    [[nodiscard]] std::string said() const;

private:
    static constexpr std::size_t most_text = 2048;
    std::array<std::array<char, most_text>, 2> lines_{};  // one is complete whenever the process is stopped
    std::atomic<std::uint32_t> complete_{0};
};

/// "in compute of chunk 12", "waiting for a chunk".
[[nodiscard]] std::string activity(const RankEntry& entry);

/// Records the open chunks of the devices behind `endpoints`.
void note_open_chunk(RankEntry& entry, const std::deque<Endpoint>& endpoints) noexcept;

/// The entries of a node's ranks: in a shared MPI window, or ordinary memory without MPI.
class RankBoard {
public:
    RankBoard();                              ///< A single process.
    explicit RankBoard(MpiSession& session);  ///< Collective over the node.
    /// For the rank at `place` of `ranks` that map the same zeroed memory, of bytes_for(ranks); place 0 begins.
    RankBoard(NodeMemory memory, std::size_t ranks, std::size_t place);
    [[nodiscard]] static std::size_t bytes_for(std::size_t ranks) noexcept;
    ~RankBoard();
    RankBoard(const RankBoard&) = delete;
    RankBoard& operator=(const RankBoard&) = delete;

    [[nodiscard]] RankEntry& mine() noexcept { return entries_[mine_]; }

    // The node's ranks, by their index on it.
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t my_place() const noexcept { return mine_; }
    [[nodiscard]] const RankEntry& at(std::size_t place) const noexcept { return entries_[place]; }

    /// The entry of `rank` if it is on this node.
    [[nodiscard]] const RankEntry* find(int rank) const noexcept;

    /// The entry of rank 0 if it is on this node and its process is alive.
    [[nodiscard]] const RankEntry* living_root() const noexcept;

    /// The entry of rank 0 if it was on this node, has ended the job, and its process is gone.
    [[nodiscard]] const RankEntry* ended_root() const noexcept;

    /// A rank of this node whose process is gone without having ended; nullptr if none.
    [[nodiscard]] const RankEntry* find_dead() const noexcept;

    /// True for exactly one caller on the node, which prints the message, or the warning.
    [[nodiscard]] bool claim_message() noexcept { return shared_->announced.exchange(1) == 0; }
    [[nodiscard]] bool claim_warning() noexcept { return shared_->warned.exchange(1) == 0; }

    /// The node's ranks take turns, in the order of their places. wait_for_turn() returns when the rank before has
    /// passed its turn on, a stop is requested, or 10 s are over; once.
    void wait_for_turn(const std::stop_token& stop) noexcept;
    void pass_turn_on() noexcept;

    /// How much of the output is durable, set by rank 0. Chunks of the whole job; `all` 0: unknown here, as on nodes
    /// other than rank 0's.
    struct Committed {
        std::uint64_t chunks = 0;
        std::uint64_t all = 0;
    };
    void set_committed(const Committed& committed) noexcept;
    [[nodiscard]] Committed committed() const noexcept;

    /// Whether rank 0 may commit results after this, before the job has ended.
    enum class LaterCommits : std::uint8_t { none, possible };

    /// Writes "12 of 88 chunks are committed: the same command resumes from there", that nothing is, or nothing if
    /// unknown, in at most `room` characters; returns their number. In a submitted job, which may go on by itself, it
    /// is another attempt that resumes. Async-signal-safe.
    std::size_t describe_committed(LaterCommits later, char* to, std::size_t room) const noexcept;
    [[nodiscard]] std::string describe_committed(LaterCommits later) const;

private:
    struct alignas(RankEntry) Shared {  // followed by the entries
        std::atomic<std::uint32_t> announced{0};
        std::atomic<std::uint32_t> warned{0};
        std::atomic<std::uint64_t> committed{0};
        std::atomic<std::uint64_t> chunks{0};
    };

    void take_place(int rank) noexcept;
    [[nodiscard]] bool is_dead(const RankEntry& entry) const noexcept;
    void lay_out(std::byte* memory, bool begins);

    NodeMemory memory_;  // without MPI: Shared, then one RankEntry per rank of the node
    MPI_Win window_ = MPI_WIN_NULL;
    Shared* shared_ = nullptr;
    RankEntry* entries_ = nullptr;
    std::size_t count_ = 1;
    std::size_t mine_ = 0;
    const char* resumer_ = "the same command";
};

}  // namespace sluice
