#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

/// Clock of all traces: monotonic, one per node; comm/clock_alignment.hpp relates the clocks of different nodes.
using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;
using Seconds = std::chrono::duration<double>;

/// Half-open time interval; empty if begin == end.
struct Interval {
    Instant begin{};
    Instant end{};

    [[nodiscard]] Seconds length() const noexcept { return end - begin; }
    friend bool operator==(const Interval&, const Interval&) = default;
};

}  // namespace sluice
