#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// Makes this process obey faults, those of SLUICE_FAULT too (take_fault_variable).
void install_faults();

/// Makes the fault that `text` describes happen in this process, which is rank `rank`, and starts
/// counting anew. Throws Error (usage) when it is malformed or names a point that does not exist.
void arm_fault(std::string_view text, int rank = 0);

/// From now on nothing happens; the count starts anew.
void disarm_faults();

/// How often point `name` was met since then.
[[nodiscard]] std::uint64_t times_met(std::string_view name);

/// The same of all points together.
[[nodiscard]] std::uint64_t points_met();

}  // namespace sluice
