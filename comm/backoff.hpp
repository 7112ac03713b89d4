#pragma once

#include <algorithm>
#include <chrono>

#include "core/clock.hpp"

namespace sluice {

/// Sleep time of a polling loop: zero right after activity, then proportional to the idle time so far. A message is
/// thus delayed by a fraction of the pause before it, and an idle rank uses no core.
class Backoff {
public:
    void reset() noexcept { idle_ = false; }

    /// Limit while a long message is in transit: MPI only moves it when polled, and reports nothing until it is
    /// complete.
    static constexpr std::chrono::nanoseconds in_transit{20'000};
    static constexpr std::chrono::nanoseconds longest{2'000'000};

    /// Time to sleep; zero: poll again at once.
    [[nodiscard]] std::chrono::nanoseconds next(std::chrono::nanoseconds at_most = longest) noexcept {
        const Instant now = Clock::now();
        if (!idle_) {
            idle_ = true;
            since_ = now;
        }
        const std::chrono::nanoseconds pause = (now - since_) / idle_share;
        return pause < shortest ? std::chrono::nanoseconds(0) : std::min(pause, at_most);
    }

private:
    static constexpr int idle_share = 4;
    static constexpr std::chrono::nanoseconds shortest{5'000};  // below this, sleeping costs more than it saves

    bool idle_ = false;
    Instant since_{};
};

}  // namespace sluice
