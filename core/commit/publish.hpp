#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/commit/assembly.hpp"
#include "core/commit/attempt_folder.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/run_identity.hpp"

namespace sluice {

/// Gives the sealed parts of `attempt` their published names, and then the manifest, never replacing a file. Several
/// parts of one file are in `assembly`, which is null otherwise. An existing file is accepted if this attempt, or
/// another one of this run, has sealed it. Returns the published manifest, this attempt's or an equal one. Throws
/// Error: superseded, cannot_create (E-OUT-073) if another file has the name, io_error.
Manifest publish(const AttemptFolder& attempt, const PartPlan& plan, const RunIdentity& identity,
                 const std::vector<SealedPart>& sealed, Assembly* assembly,
                 const std::vector<std::uint64_t>& failed_items, const ManifestNotes& notes);

}  // namespace sluice
