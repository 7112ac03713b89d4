#pragma once

#include "core/function_ref.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Puts `time(t)` in place of each time t of a rank's trace; what did not happen stays so. `time` never decreases.
void retime(RankTrace& trace, FunctionRef<Instant(Instant)> time);

}  // namespace sluice
