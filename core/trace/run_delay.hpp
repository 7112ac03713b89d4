#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace sluice {

/// How long the thread `thread` of this process could have run, but had no CPU: the second number of
/// /proc/self/task/N/schedstat (Linux, Documentation/scheduler/sched-stats). nullopt: the thread is gone, or the kernel
/// does not count it.
[[nodiscard]] std::optional<std::chrono::nanoseconds> read_run_delay(pid_t thread);

/// The same of the calling thread.
[[nodiscard]] std::optional<std::chrono::nanoseconds> read_run_delay();

}  // namespace sluice
