#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// Enables faults in this process, including those of SLUICE_FAULT (take_fault_variable).
void install_faults();

/// Arms the fault described by `text` (docs/verification.md) in this process, which is rank `rank`, and resets the
/// counts. Throws Error (usage) if it is malformed or names an unknown point.
void arm_fault(std::string_view text, int rank = 0);

/// Disarms all faults and resets the counts.
void disarm_faults();

/// Number of times that point `name` was met since the last reset.
[[nodiscard]] std::uint64_t times_met(std::string_view name);

/// The same for all points together.
[[nodiscard]] std::uint64_t points_met();

}  // namespace sluice
