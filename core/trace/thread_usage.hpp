#pragma once

#include <chrono>
#include <cstdint>
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

/// Of the calling thread, which began at `begin`.
[[nodiscard]] ThreadUsage usage_of_this_thread(std::string name, Instant begin);

}  // namespace sluice
