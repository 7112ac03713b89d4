#include "comm/clock_bounds.hpp"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::chrono::nanoseconds no_message = std::chrono::nanoseconds::max();

}  // namespace

void ClockBounds::add(Instant at, std::chrono::nanoseconds difference) noexcept {
    if (messages_++ == 0) {
        first_ = at;
    }
    const auto since = std::max(at - first_, Instant::duration(0));  // messages may overtake each other slightly
    while (since / length_ >= static_cast<std::int64_t>(stretches)) {
        widen();
    }
    const Bound seen{at, difference};
    Bound& quickest = quickest_[static_cast<std::size_t>(since / length_)];
    if (is_quicker(seen, quickest)) {
        quickest = seen;
    }
}

/// Merges each pair of intervals.
void ClockBounds::widen() noexcept {
    drift_ = estimate_drift();
    length_ *= 2;
    for (std::size_t i = 0; i < stretches / 2; ++i) {
        const Bound& first = quickest_[2 * i];
        const Bound& second = quickest_[2 * i + 1];
        quickest_[i] = is_quicker(second, first) ? second : first;
    }
    std::fill(quickest_.begin() + stretches / 2, quickest_.end(), Bound());
}

/// Compares as if sent at the same time, by the estimated drift.
bool ClockBounds::is_quicker(const Bound& a, const Bound& b) const noexcept {
    if (a.difference == no_message || b.difference == no_message) {
        return b.difference == no_message && a.difference != no_message;
    }
    return static_cast<double>((a.difference - b.difference).count()) <
           drift_ * static_cast<double>((a.at - b.at).count());
}

/// From the first and the last interval. Their messages' excess latency makes it inexact, which hardly matters within
/// an interval, 1/64 of the time.
double ClockBounds::estimate_drift() const noexcept {
    const auto has_one = [](const Bound& bound) { return bound.difference != no_message; };
    const auto first = std::find_if(quickest_.begin(), quickest_.end(), has_one);
    const auto last = std::find_if(quickest_.rbegin(), quickest_.rend(), has_one);
    if (first == quickest_.end() || last->at <= first->at) {
        return 0;
    }
    return static_cast<double>((last->difference - first->difference).count()) /
           static_cast<double>((last->at - first->at).count());
}

}  // namespace sluice
