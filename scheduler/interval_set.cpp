#include "scheduler/interval_set.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace sluice {
namespace {

bool begins_before(const Interval& a, const Interval& b) {
    return a.begin < b.begin;
}

}  // namespace

IntervalSet::IntervalSet(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {
    std::erase_if(intervals_, [](const Interval& interval) { return interval.begin == interval.end; });
    if (!std::is_sorted(intervals_.begin(), intervals_.end(), begins_before)) {
        std::sort(intervals_.begin(), intervals_.end(), begins_before);
    }
    merge_sorted();
}

IntervalSet IntervalSet::united(const IntervalSet& other) const {
    IntervalSet result;
    result.intervals_.reserve(intervals_.size() + other.intervals_.size());
    std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(), other.intervals_.end(),
               std::back_inserter(result.intervals_), begins_before);
    result.merge_sorted();
    return result;
}

std::chrono::nanoseconds IntervalSet::length() const noexcept {
    std::chrono::nanoseconds sum{0};
    for (const Interval& interval : intervals_) {
        sum += interval.end - interval.begin;
    }
    return sum;
}

void IntervalSet::merge_sorted() {
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

}  // namespace sluice
