#pragma once

#include <cstdint>

#include "core/clock.hpp"

namespace sluice {

/// From now on this process's monotonic clock drifts: it shows so many millionths more time; 0: no more than it is. For
/// one call after the other.
void let_clock_drift(std::int64_t ppm);

/// What Clock shows at `steady`, which is a time of the clock without drift.
[[nodiscard]] Instant drifted(Instant steady);

/// The time without drift.
[[nodiscard]] Instant steady_now();

}  // namespace sluice
