#include "comm/root_time.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

double count(nanoseconds time) {
    return static_cast<double>(time.count());
}

}  // namespace

RootTime::RootTime(const ClockOffset& first, const ClockOffset& last) : first_(first), last_(last) {
    const nanoseconds between = last.at - first.at;
    expects(between.count() > 0, "a clock is aligned a second time after the first");
    drift_ = count(last.offset - first.offset) / count(between);
    drift_error_ = count(first.error + last.error) / count(between);
}

nanoseconds RootTime::offset_at(Instant own) const {
    return first_.offset + nanoseconds(std::llround(drift_ * count(own - first_.at)));
}

nanoseconds RootTime::error_at(Instant own) const {
    const nanoseconds outside = std::max({own - last_.at, first_.at - own, nanoseconds(0)});
    return std::max(first_.error, last_.error) + nanoseconds(std::llround(std::ceil(drift_error_ * count(outside))));
}

Causality check_causality(const RootTime& time, const ClockBounds& to_root, const ClockBounds& from_root) {
    Causality causality{.messages = to_root.messages() + from_root.messages()};
    nanoseconds bound{0};
    const auto compare = [&](const ClockBounds& bounds, int sign) {
        for (const ClockBounds::Bound& seen : bounds.quickest()) {
            if (seen.difference != nanoseconds::max()) {
                const nanoseconds room = seen.difference - sign * time.offset_at(seen.at);
                causality.violation = std::max(causality.violation, -room);
                bound = std::max(bound, room);
            }
        }
    };
    compare(to_root, 1);     // a message takes time: the offset is at most the difference seen on the way to rank 0 …
    compare(from_root, -1);  // … and at least the negative of that on the way back
    if (to_root.messages() > 0 && from_root.messages() > 0) {
        causality.bound = std::max(bound, causality.violation);
    }
    return causality;
}

}  // namespace sluice
