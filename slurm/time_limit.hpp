#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace sluice {

/// What squeue calls the time that is left: "1-02:03:04", "3:04", "0:59". nullopt: "UNLIMITED", "INVALID" or anything
/// else.
[[nodiscard]] std::optional<std::chrono::seconds> parse_time_left(std::string_view text);

/// How long the Slurm job `job` may still run: what squeue says, which takes a moment, at most squeue_patience.
/// nullopt: it has no limit. Throws Error (unavailable) where Slurm does not tell, or has not until `stop` was
/// requested.
[[nodiscard]] std::optional<std::chrono::seconds> ask_squeue_for_time_left(const std::string& job,
                                                                           const std::stop_token& stop = {});
inline constexpr std::chrono::seconds squeue_patience{15};

/// The same, by SLURM_JOB_END_TIME if there is one: when the job started, its time was over then.
[[nodiscard]] std::optional<std::chrono::seconds> ask_time_left(const std::string& job,
                                                                const std::stop_token& stop = {});

/// Whether a chunk that is handed out now would not be committed in time: it takes as long as the slowest of the last
/// ones and half as long again, then what is in flight is committed and the job leaves.
[[nodiscard]] bool is_too_late(std::chrono::duration<double> left, std::chrono::duration<double> slowest_chunk);

/// Whether it may be by the time at which squeue has answered.
[[nodiscard]] bool is_nearly_too_late(std::chrono::duration<double> left, std::chrono::duration<double> slowest_chunk);

}  // namespace sluice
