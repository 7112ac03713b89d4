#pragma once

#include "scheduler/verdict.hpp"

namespace sluice {

/// Whether `stage` is short of host CPUs, so that neither faster code nor more devices would help.
[[nodiscard]] bool lacks_cpu(const Verdict& verdict, Stage stage, DeviceKind device);

/// Adds observations and advice to the verdict, never advice that is already followed.
void add_notes(Verdict& verdict, const RunReport& run);

}  // namespace sluice
