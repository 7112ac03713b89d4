#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// The stretches of time in which at least one of many intervals lies. Exact: whole ticks of the clock, no rounding.
class IntervalSet {
public:
    IntervalSet() = default;

    /// O(n log n). Empty intervals leave no trace; none ends before it begins.
    explicit IntervalSet(std::vector<Interval> intervals);

    /// The union of both, O(n).
    [[nodiscard]] IntervalSet united(const IntervalSet& other) const;

    [[nodiscard]] std::chrono::nanoseconds length() const noexcept;

    /// Sorted, disjoint, not touching each other.
    [[nodiscard]] std::span<const Interval> intervals() const noexcept { return intervals_; }

private:
    void merge_sorted();

    std::vector<Interval> intervals_;
};

}  // namespace sluice
