#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "core/clock.hpp"

namespace sluice {

/// Sleeps until `then`, or until a stop is requested; says whether it was. For the thread of a std::jthread that does
/// something now and again, and ends at once when it is destroyed.
[[nodiscard]] inline bool stopped_before(const std::stop_token& stop, Instant then) {
    std::mutex mutex;
    std::condition_variable_any never_notified;
    std::unique_lock lock(mutex);
    never_notified.wait_until(lock, stop, then, [] { return false; });
    return stop.stop_requested();
}

}  // namespace sluice
