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

/// How long something has been seen not to move. Time in which the watching thread itself did not run does not count: a
/// job that was suspended as a whole does not hang.
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

/// An activity, and how long it has not moved.
struct StillActivity {
    Activities::View activity;
    std::chrono::nanoseconds still{0};
};

/// An activity that is at work and does not get on: of all groups in which nothing has moved for longer than the
/// longest of its activities' limits, the one that is still for longest. nullptr: every group moves or waits for
/// others. Pure.
[[nodiscard]] const StillActivity* find_stuck(std::span<const StillActivity> activities,
                                              std::chrono::nanoseconds timeout);

/// All activities wait for each other, and none has moved for longer than `timeout`; the comm thread, which wakes up
/// now and then, does not count. Pure.
[[nodiscard]] bool stands_still(std::span<const StillActivity> activities, std::chrono::nanoseconds timeout);

/// How often a rank sends a heartbeat while a run is not ending, so that its silence is no hang. `timeout` 0: none
/// is looked for.
[[nodiscard]] std::chrono::nanoseconds heartbeat_interval(std::chrono::nanoseconds timeout);

struct HangWatchOptions {
    std::chrono::nanoseconds timeout{0};  ///< 0: nothing is ever called a hang.
    std::size_t devices = 1;              ///< Of this rank: before all of them are ready nothing stands still.
    const GrantBook* book = nullptr;      ///< Rank 0's; there until end().
    std::vector<std::string> hosts{};     ///< Of all ranks, or rank 0's alone.
    std::filesystem::path dump_folder{};  ///< Where Hang::dump is to be written; may be empty.
    /// Rank 0's: why the other ranks have given it up, if they have: it may not have run for a while. May be empty.
    std::function<std::optional<std::string>()> given_up{};
};

struct Hang {
    int rank = 0;
    std::string where;                ///< "rank 3 on n07"
    std::string what;                 ///< What it is at, and for how long.
    std::string dump;                 ///< Who waits for what, a line each, the culprit first.
    std::filesystem::path dump_file;  ///< Where that is to be written; may be empty.
};

/// Looks for ranks that do not get on: this one by its activities, the others of its node by the board, and those of
/// other nodes by how long they have been silent: rank 0 looks for all, and all for rank 0. Needs neither MPI nor the
/// comm thread.
class HangWatch {
public:
    /// Everything outlives it.
    HangWatch(RankBoard& board, const Activities& activities, std::string host);

    /// From now on; from any thread.
    void begin(HangWatchOptions options);
    void end();

    /// One look, by one thread, every few tenths of a second; it also says on the board what this rank is at. A hang is
    /// returned as soon as it is this rank's turn to end the job: it is rank 0's first, if that is alive on this node.
    [[nodiscard]] std::optional<Hang> look(Instant now, RunPhase phase);

    /// The chunks that a rank of this node held last, or on rank 0 any rank, as far as is known here.
    [[nodiscard]] std::vector<std::uint64_t> chunks_of(const RankEntry& entry);
    [[nodiscard]] std::vector<std::uint64_t> chunks_of(int rank);

private:
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
    std::vector<StillActivity> still_;
    std::vector<Stillness> activity_clocks_;  // one an activity
    std::vector<Stillness> beats_;            // one a rank of this node
    std::vector<Stillness> words_;            // rank 0's: one a rank
    Stillness root_words_;                    // of other ranks
    std::chrono::nanoseconds since_heartbeat_{0};
    std::optional<std::size_t> stuck_;  // of still_: what does not get on
    std::chrono::nanoseconds stuck_since_{0};
};

}  // namespace sluice
