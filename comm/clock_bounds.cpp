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
    const auto since = std::max(at - first_, Instant::duration(0));  // messages overtake each other by a little
    while (since / length_ >= static_cast<std::int64_t>(stretches)) {
        widen();
    }
    const Bound seen{at, difference};
    Bound& quickest = quickest_[static_cast<std::size_t>(since / length_)];
    if (is_quicker(seen, quickest)) {
        quickest = seen;
    }
}

/// Each stretch takes in the one behind it.
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

/// Had they been sent at one time.
bool ClockBounds::is_quicker(const Bound& a, const Bound& b) const noexcept {
    if (a.difference == no_message || b.difference == no_message) {
        return b.difference == no_message && a.difference != no_message;
    }
    return static_cast<double>((a.difference - b.difference).count()) <
           drift_ * static_cast<double>((a.at - b.at).count());
}

/// By the first and the last stretch. It is off by what those messages were slower than others, which a stretch, being
/// a 64th of the time, hardly notices.
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
