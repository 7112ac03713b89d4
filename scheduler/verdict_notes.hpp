#pragma once

#include "scheduler/verdict.hpp"

namespace sluice {

/// What `stage` does would get no more of the hosts' CPUs by a faster way to do it, or by more devices.
[[nodiscard]] bool lacks_cpu(const Verdict& verdict, Stage stage, DeviceKind device);

/// What is worth knowing beside the verdict's line, and what may help: never what is set already.
void add_notes(Verdict& verdict, const JudgedRun& run);

}  // namespace sluice
