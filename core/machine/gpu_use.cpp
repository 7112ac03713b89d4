#include "core/machine/gpu_use.hpp"

#include <algorithm>

namespace sluice {

void GpuUseBuilder::mark(const GpuReading& reading, Instant at) {
    if (!begin_) {
        begin_ = at;
        first_joules_ = reading.joules;
    }
    end_ = at;
    last_joules_ = reading.joules;
}

void GpuUseBuilder::add(const GpuReading& reading, Instant at) {
    mark(reading, at);
    ++use_.samples;
    if (const auto clock = reading.clock_mhz) {
        clock_ = clock_ ? GpuClock{.least = std::min(clock_->least, *clock), .most = std::max(clock_->most, *clock)}
                        : GpuClock{.least = *clock, .most = *clock};
        clock_mean_.sum += *clock;
        ++clock_mean_.count;
    }
    if (reading.watts) {
        watts_.sum += *reading.watts;
        ++watts_.count;
    }
    if (reading.limits) {
        ++limit_samples_;
        for (std::size_t i = 0; i < gpu_limits.size(); ++i) {
            limits_[i] += (*reading.limits & gpu_limits[i].bit) != 0 ? 1U : 0U;
        }
    }
}

GpuUse GpuUseBuilder::use() const {
    GpuUse use = use_;
    use.time = begin_ ? end_ - *begin_ : std::chrono::nanoseconds(0);
    const double seconds = Seconds(use.time).count();
    if (clock_) {
        use.clock_mhz = clock_;
        use.clock_mhz->mean = clock_mean_.sum / static_cast<double>(clock_mean_.count);
    }
    if (watts_.count != 0) {
        use.watts = watts_.sum / static_cast<double>(watts_.count);
    }
    if (first_joules_ && last_joules_ && *last_joules_ >= *first_joules_) {
        use.joules = *last_joules_ - *first_joules_;
        use.joules_are_counted = true;
    } else if (use.watts) {
        use.joules = *use.watts * seconds;
    }
    if (limit_samples_ != 0) {
        for (const std::uint64_t count : limits_) {
            use.limit_shares.push_back(static_cast<double>(count) / static_cast<double>(limit_samples_));
        }
    }
    return use;
}

}  // namespace sluice
