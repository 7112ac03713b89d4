#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace sluice {

/// Parses squeue's time left: "1-02:03:04", "3:04", "0:59". nullopt: "UNLIMITED", "INVALID" or anything else.
[[nodiscard]] std::optional<std::chrono::seconds> parse_time_left(std::string_view text);

/// Time left of Slurm job `job` from squeue, which may block for up to squeue_patience. nullopt: no limit, or the job
/// is over, and this process has only inherited its variables. Throws Error (unavailable) when Slurm does not answer,
/// or not before `stop` is requested.
[[nodiscard]] std::optional<std::chrono::seconds> ask_squeue_for_time_left(const std::string& job,
                                                                           const std::stop_token& stop = {});
inline constexpr std::chrono::seconds squeue_patience{15};

/// The same, from `end_time`, SLURM_JOB_END_TIME, if that is yet to come: the end of the limit as of the job's start.
/// Empty: not set.
[[nodiscard]] std::optional<std::chrono::seconds> ask_time_left(const std::string& job, std::string_view end_time,
                                                                const std::stop_token& stop = {});

/// SLURM_JOB_END_TIME, if set, for another thread that asks for the time left. Also keeps the environment that children
/// get: this thread may set variables while the other one would read them.
[[nodiscard]] std::string take_end_time();

/// Whether a chunk granted now would be committed too late: allows 1.5 times the slowest chunk so far, then time to
/// commit what is in flight and to exit.
[[nodiscard]] bool is_too_late(Seconds left, Seconds slowest_chunk);

/// By when chunks in flight have to be there when the job ends at `limit`, so that they can be committed.
[[nodiscard]] Instant end_of_chunks(Instant limit);

/// Whether it may be too late by the time squeue has answered.
[[nodiscard]] bool is_nearly_too_late(Seconds left, Seconds slowest_chunk);

}  // namespace sluice
