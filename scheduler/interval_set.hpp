#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// The union of time intervals. Exact: whole clock ticks, no rounding.
class IntervalSet {
public:
    /// O(n log n). Empty intervals are dropped; none may end before it begins.
    explicit IntervalSet(std::vector<Interval> intervals);

    [[nodiscard]] std::chrono::nanoseconds length() const noexcept;

    /// Sorted, disjoint, not adjacent.
    [[nodiscard]] std::span<const Interval> intervals() const noexcept { return intervals_; }

private:
    std::vector<Interval> intervals_;
};

}  // namespace sluice
