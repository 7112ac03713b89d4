#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace sluice {

/// What a host thread has cost so far, as the kernel counts it.
struct ThreadUsage {
    std::string name{};                ///< "driver 0", "reader 3", "writer", "comm".
    std::chrono::nanoseconds wall{0};  ///< Since it began.
    std::chrono::nanoseconds cpu{0};   ///< Of that on a core, in user and system mode.
    std::uint64_t waits = 0;           ///< Context switches because it waited for something (voluntary),
    std::uint64_t preemptions = 0;     ///< and because somebody else got the core (involuntary).
    friend bool operator==(const ThreadUsage&, const ThreadUsage&) = default;
};

/// Names the calling thread for debuggers and top; the kernel keeps the first 15 bytes.
void name_this_thread(std::string name) noexcept;

/// Of the calling thread, which began at `begin`.
[[nodiscard]] ThreadUsage usage_of_this_thread(std::string name, Instant begin);

/// How long the thread `thread` of this process could have run, but had no CPU: the second number of
/// /proc/self/task/N/schedstat (Linux, Documentation/scheduler/sched-stats). nullopt: the thread is gone, or the kernel
/// does not count it.
[[nodiscard]] std::optional<std::chrono::nanoseconds> read_run_delay(pid_t thread);

/// The same of the calling thread.
[[nodiscard]] std::optional<std::chrono::nanoseconds> read_run_delay();

}  // namespace sluice
