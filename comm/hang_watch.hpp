#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/grant_book.hpp"
#include "comm/rank_board.hpp"
#include "core/clock.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/activities.hpp"

namespace sluice {

/// How often the watching thread looks. Between looks more than a second apart the process was suspended, except while
/// the thread waited for a CPU.
inline constexpr std::chrono::milliseconds look_interval{200};

/// How long a counter has not changed. Time in which the watching thread did not run is not counted: a suspended job
/// does not hang.
class Stillness {
public:
    void see(std::uint64_t moves, std::chrono::nanoseconds since_last_look) noexcept {
        still_ = moves == moves_ ? still_ + since_last_look : std::chrono::nanoseconds(0);
        moves_ = moves;
    }
    [[nodiscard]] std::chrono::nanoseconds still() const noexcept { return still_; }
    [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }

private:
    std::uint64_t moves_ = 0;
    std::chrono::nanoseconds still_{0};
};

/// An activity, and how long it has made no progress.
struct StillActivity {
    Activities::View activity;
    std::chrono::nanoseconds still{0};
};

/// The activity that is working without progress: from the group without progress for longest, among groups without
/// progress for longer than the longest limit of their activities. nullptr: every group makes progress or waits for
/// others. Pure.
[[nodiscard]] const StillActivity* find_stuck(std::span<const StillActivity> activities,
                                              std::chrono::nanoseconds timeout);

/// Whether all activities wait for each other and none has made progress for longer than `timeout`; the comm thread,
/// which wakes up periodically, is ignored. Pure.
[[nodiscard]] bool stands_still(std::span<const StillActivity> activities, std::chrono::nanoseconds timeout);

/// Interval of a rank's heartbeats while a run is not ending, so that silence means a hang. `timeout` 0: hangs are not
/// detected.
[[nodiscard]] std::chrono::nanoseconds heartbeat_interval(std::chrono::nanoseconds timeout);

struct HangWatchOptions {
    std::chrono::nanoseconds timeout{0};  ///< 0: hangs are not detected.
    std::size_t devices = 1;              ///< Of this rank: a standstill is only detected once all are ready.
    GrantBook* book = nullptr;            ///< On rank 0 only; must live until end(). Ticks at every look().
    std::vector<std::string> hosts{};     ///< Of all ranks, or of rank 0 alone.
    std::filesystem::path dump_folder{};  ///< Where Hang::dump is written; may be empty.
    /// On rank 0: why the other ranks have given up on it, if they have: it may not have run for a while. May be empty.
    std::function<std::optional<std::string>()> given_up{};
    /// On rank 0: whether the input is still being indexed, for which readers and writer may wait. May be empty.
    std::function<bool()> is_indexing{};
};

struct Hang {
    int rank = 0;
    std::string where;                ///< "rank 3 on n07"
    std::string what;                 ///< What it was doing, and for how long.
    std::string dump;                 ///< Who waits for what, one line each, the culprit first.
    std::filesystem::path dump_file;  ///< Where to write `dump`; may be empty.
};

/// Detects hanging ranks: this one by its activities, others on its node by the board, those of other nodes by their
/// silence: rank 0 watches all ranks, and all watch rank 0. Needs neither MPI nor the comm thread.
class HangWatch {
public:
    /// All arguments outlive it.
    HangWatch(RankBoard& board, const Activities& activities, std::string host);

    /// Starts detection, or goes on with these options; callable from any thread.
    void begin(HangWatchOptions options);
    void end();

    /// One check, by one thread, every look_interval; also posts this rank's activity on the board. Returns a
    /// hang once it is this rank's turn to end the job: rank 0 goes first if it is alive on this node. `run_delay`: of
    /// the thread so far, as read_run_delay().
    [[nodiscard]] std::optional<Hang> look(Instant now, RunPhase phase,
                                           std::optional<std::chrono::nanoseconds> run_delay);

    /// When the process was suspended so far, to about look_interval; in order. Without a look() since, a thread that
    /// still waits for a CPU seems suspended.
    [[nodiscard]] std::vector<Interval> suspensions(Instant now);

    /// The chunks last held by a rank of this node, or on rank 0 by any rank, as far as known here.
    [[nodiscard]] std::vector<std::uint64_t> chunks_of(const RankEntry& entry);
    [[nodiscard]] std::vector<std::uint64_t> chunks_of(int rank);

private:
    void note_suspension(Instant now, std::chrono::nanoseconds delayed);
    void note(std::chrono::nanoseconds elapsed);
    void update_board(std::chrono::nanoseconds elapsed);
    [[nodiscard]] std::chrono::nanoseconds head_start_of_root() const;
    [[nodiscard]] std::optional<Hang> find_own_hang() const;
    [[nodiscard]] std::optional<Hang> find_hang_of_node() const;
    [[nodiscard]] std::optional<Hang> find_silent_rank() const;
    [[nodiscard]] std::optional<Hang> find_silent_root() const;
    [[nodiscard]] std::optional<Hang> find_standstill() const;
    [[nodiscard]] Hang hang_of(int rank, std::string what) const;
    [[nodiscard]] std::filesystem::path dump_file() const;
    [[nodiscard]] std::string describe_stuck() const;
    [[nodiscard]] std::string describe_activities() const;
    [[nodiscard]] std::string describe_place(std::size_t place) const;
    [[nodiscard]] std::string describe_books(int rank) const;
    [[nodiscard]] std::string name_of(int rank) const;

    RankBoard& board_;
    const Activities& activities_;
    std::string host_;
    std::mutex mutex_;
    HangWatchOptions options_;
    std::optional<Instant> last_look_;
    std::optional<std::chrono::nanoseconds> last_run_delay_;
    std::vector<Interval> suspensions_;
    std::vector<StillActivity> still_;
    std::vector<Stillness> activity_clocks_;  // one per activity
    std::vector<Stillness> beats_;            // one per rank of this node
    std::vector<Stillness> silences_;         // of each rank, by its messages; on rank 0
    Stillness root_silence_;                  // on other ranks
    std::chrono::nanoseconds since_heartbeat_{0};
    std::optional<std::size_t> stuck_;  // index in still_ of what hangs
    std::chrono::nanoseconds stuck_since_{0};
};

}  // namespace sluice
