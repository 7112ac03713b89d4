#pragma once

#include <cstdint>

#include "core/clock.hpp"

namespace sluice {

/// Makes this process's monotonic clock run faster by `ppm` millionths from now on; 0: no drift. Not thread-safe.
void let_clock_drift(std::int64_t ppm);

/// What Clock shows at `steady`, a time of the clock without drift.
[[nodiscard]] Instant drifted(Instant steady);

/// The time without drift.
[[nodiscard]] Instant steady_now();

}  // namespace sluice
