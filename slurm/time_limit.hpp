#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// What squeue calls the time that is left: "1-02:03:04", "3:04", "0:59". nullopt: "UNLIMITED", "INVALID" or anything
/// else.
[[nodiscard]] std::optional<std::chrono::seconds> parse_time_left(std::string_view text);

/// How long the Slurm job `job` may still run: SLURM_JOB_END_TIME, else what squeue says, which takes a moment.
/// nullopt: without end, or Slurm does not tell.
[[nodiscard]] std::optional<std::chrono::seconds> ask_time_left(const std::string& job);

/// Whether a chunk that is handed out now would not be committed in time: it takes as long as the slowest of the last
/// ones and half as long again, then what is in flight is committed and the job leaves.
[[nodiscard]] bool is_too_late(std::chrono::duration<double> left, std::chrono::duration<double> slowest_chunk);

}  // namespace sluice
