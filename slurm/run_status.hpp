#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace sluice {

enum class RunState : std::uint8_t {
    preparing,  ///< Before the first chunk.
    running,
    draining,  ///< No chunk is handed out any more.
    complete,
    stopped,  ///< Early and in good order: the same command continues.
    failed,
};

/// One rank's part of an attempt.
struct RankStatus {
    std::string host{};
    std::uint64_t chunks = 0;
    std::uint64_t items = 0;
    double items_per_second = 0;     ///< In the last few seconds.
    double seconds_since_chunk = 0;  ///< Since its last result, or since it began.

    friend bool operator==(const RankStatus&, const RankStatus&) = default;
};

/// How an attempt has ended.
struct RunEnd {
    int code = 0;
    bool again = false;  ///< It got further, and nobody asked it to stop for good: another attempt is worth it.
    int signal = 0;      ///< That asked rank 0 to stop; 0: none did.
    ErrorText text{};    ///< Empty when it is complete.

    friend bool operator==(const RunEnd&, const RunEnd&);
};

/// What an attempt tells of itself, once a second, in status.json of the run's folder. Times are seconds since 1970.
struct RunStatus {
    RunState state = RunState::preparing;
    std::string job{};                             ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;                    ///< SLURM_RESTART_COUNT.
    std::uint64_t attempt = 1;                     ///< Among those of one submission.
    std::optional<std::uint64_t> most_attempts{};  ///< That Slurm's batch script starts; nullopt: there is none.
    std::string host{};                            ///< Of rank 0.
    std::int64_t process = 0;                      ///< Of rank 0.
    std::string output{};
    std::uint64_t items = 0;
    std::uint64_t items_before = 0;  ///< Done by earlier attempts.
    std::uint64_t items_done = 0;    ///< Those included.
    std::uint64_t chunks = 0;
    std::uint64_t chunks_before = 0;
    std::uint64_t chunks_done = 0;
    double items_per_second = 0;       ///< In the last few seconds.
    double mean_items_per_second = 0;  ///< Of this attempt.
    std::optional<double> seconds_left{};
    std::optional<double> limit{};  ///< When the job's time is over.
    double started = 0;
    double updated = 0;
    std::vector<RankStatus> ranks{};
    std::optional<std::uint32_t> slowest{};  ///< As find_slowest gives it.
    std::optional<RunEnd> end{};

    friend bool operator==(const RunStatus&, const RunStatus&) = default;
};

[[nodiscard]] std::string_view name_of(RunState state);

/// Of several ranks the slowest one, if it is clearly slower than the others: by a tenth than their median, in the last
/// few seconds.
[[nodiscard]] std::optional<std::uint32_t> find_slowest(const std::vector<RankStatus>& ranks);

/// It has ended, and the batch script starts another attempt.
[[nodiscard]] bool is_followed(const RunStatus& status);

[[nodiscard]] std::string encode(const RunStatus& status);
/// nullopt: not what encode gives.
[[nodiscard]] std::optional<RunStatus> decode_run_status(std::string_view text);

/// nullopt: there is none, or none that can be read.
[[nodiscard]] std::optional<RunStatus> read_run_status(const std::filesystem::path& file);

/// Appears whole or not at all; is not synced. Returns 0, or errno.
[[nodiscard]] int write_run_status(const std::filesystem::path& file, const RunStatus& status);

}  // namespace sluice
