#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/modes.hpp"

namespace sluice {

enum class RunState : std::uint8_t {
    preparing,  ///< Before the first chunk.
    running,
    draining,  ///< No further chunks are granted.
    complete,
    stopped,  ///< Ended early, in order: the same command continues.
    failed,
};
template <>
inline constexpr std::array<std::string_view, 6> words_of<RunState>{"preparing", "running", "draining",
                                                                    "complete",  "stopped", "failed"};

/// One rank's part of an attempt.
struct RankStatus {
    std::string host{};
    std::uint64_t chunks = 0;
    std::uint64_t items = 0;
    double items_per_second = 0;     ///< In the last few seconds.
    double seconds_since_chunk = 0;  ///< Since its last result, or its start.

    friend bool operator==(const RankStatus&, const RankStatus&) = default;
};

/// How an attempt ended.
struct RunEnd {
    int code = 0;
    bool again = false;  ///< It made progress and was not stopped for good: worth another attempt.
    int signal = 0;      ///< Signal that asked rank 0 to stop; 0: none.
    ErrorText text{};    ///< Empty if complete.

    friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

/// An attempt's status, written once per second to status.json in the run's folder. Times are seconds since 1970.
struct RunStatus {
    RunState state = RunState::preparing;
    std::string job{};                             ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;                    ///< SLURM_RESTART_COUNT.
    std::uint64_t attempt = 1;                     ///< Number within its submission.
    std::optional<std::uint64_t> most_attempts{};  ///< Limit of the batch script; nullopt: no batch script.
    std::string host{};                            ///< Of rank 0.
    std::int64_t process = 0;                      ///< Of rank 0.
    std::string output{};
    std::uint64_t items = 0;
    bool items_estimated = false;    ///< `items` and `chunks` are: the input is still being indexed.
    std::uint64_t items_before = 0;  ///< Done by earlier attempts.
    std::uint64_t items_done = 0;    ///< Written, including earlier attempts; a crash may lose what is not committed.
    std::optional<std::uint64_t>
        items_committed{};  ///< Including earlier attempts; nullopt: an older version wrote it.
    std::uint64_t chunks = 0;
    std::uint64_t chunks_before = 0;
    std::uint64_t chunks_done = 0;
    std::optional<std::uint64_t> chunks_committed{};
    double items_per_second = 0;       ///< In the last few seconds.
    double mean_items_per_second = 0;  ///< Of this attempt.
    std::optional<double> seconds_left{};
    std::optional<double> limit{};  ///< End of the job's time limit.
    double started = 0;
    double updated = 0;
    std::vector<RankStatus> ranks{};
    std::optional<std::uint32_t> slowest{};  ///< Result of find_slowest().
    std::optional<RunEnd> end{};

    friend bool operator==(const RunStatus&, const RunStatus&) = default;
};

/// Now, as a status has its times.
[[nodiscard]] double unix_seconds();

/// The slowest of several ranks, if its recent rate is more than a tenth below the others' median.
[[nodiscard]] std::optional<std::uint32_t> find_slowest(const std::vector<RankStatus>& ranks);

/// Whether it has ended and the batch script starts another attempt.
[[nodiscard]] bool is_followed(const RunStatus& status);

[[nodiscard]] std::string encode(const RunStatus& status);
/// Inverse of encode(); nullopt: invalid text.
[[nodiscard]] std::optional<RunStatus> decode_run_status(std::string_view text);

/// nullopt: missing or unreadable.
[[nodiscard]] std::optional<RunStatus> read_run_status(const std::filesystem::path& file);

/// Replaces the file as a whole, without sync. Where there is no room for another file, it writes over that of the same
/// process. Returns 0, or errno.
[[nodiscard]] int write_run_status(const std::filesystem::path& file, const RunStatus& status);

}  // namespace sluice
