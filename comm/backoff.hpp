#pragma once

#include <algorithm>
#include <chrono>

#include "core/clock.hpp"

namespace sluice {

/// How long a loop that has to poll may sleep: not at all while it was busy a moment ago, then in proportion to how
/// long nothing has happened. A message is thus seen late by a fraction of the pause before it, and an idle rank costs
/// no core.
class Backoff {
public:
    void reset() noexcept { idle_ = false; }

    /// While a long message is under way: MPI moves it only when somebody looks, and says nothing until it is over.
    static constexpr std::chrono::nanoseconds in_transit{20'000};
    static constexpr std::chrono::nanoseconds longest{2'000'000};

    /// Zero: look again at once.
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
