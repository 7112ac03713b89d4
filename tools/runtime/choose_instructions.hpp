#pragma once

#include <span>
#include <string>

#include "kernels/host_instructions.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// What the job's host devices use: a new run what all ranks support, a continued one what it began with. `ranks` are
/// the instructions of each rank's host, whose name is in `hosts`. Throws Error where a host lacks them (unavailable,
/// E-HWL-146; configuration, E-CKP-091).
[[nodiscard]] HostInstructions choose_instructions(const PreparedJob& job, std::span<const HostInstructions> ranks,
                                                   std::span<const std::string> hosts);

/// For a complete run of which something is to be computed again here. Throws Error (configuration, E-CKP-091) if its
/// host devices used instructions that this host lacks.
void require_instructions_of_run(const PreparedJob& job);

}  // namespace sluice
