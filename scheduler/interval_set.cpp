#include "scheduler/interval_set.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice {

IntervalSet::IntervalSet(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {
    std::erase_if(intervals_, [](const Interval& interval) { return interval.begin == interval.end; });
    if (!std::ranges::is_sorted(intervals_, {}, &Interval::begin)) {
        std::ranges::sort(intervals_, {}, &Interval::begin);
    }
    std::size_t kept = 0;
    for (const Interval& interval : intervals_) {
        if (kept > 0 && interval.begin <= intervals_[kept - 1].end) {
            intervals_[kept - 1].end = std::max(intervals_[kept - 1].end, interval.end);
        } else {
            intervals_[kept++] = interval;
        }
    }
    intervals_.resize(kept);
}

std::chrono::nanoseconds IntervalSet::length() const noexcept {
    std::chrono::nanoseconds sum{0};
    for (const Interval& interval : intervals_) {
        sum += interval.end - interval.begin;
    }
    return sum;
}

}  // namespace sluice
