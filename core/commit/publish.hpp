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

/// Looks, before anything is computed, for files at the output's names that no attempt of the run with the fingerprint
/// `run` can have put there, by their sizes: throws Error (cannot_create, E-OUT-073). What passes, publish() compares.
void refuse_taken_names(const RunPaths& paths, const PartPlan& plan, const std::string& run);

/// Gives the sealed parts of `attempt` their published names, and then the manifest, never replacing a file. Several
/// parts of one file are in `assembly`, which is null otherwise. An existing file is accepted if this attempt, or
/// another one of this run, has sealed it. Returns the published manifest, this attempt's or an equal one. Throws
/// Error: superseded, cannot_create (E-OUT-073) if another file has the name, io_error.
Manifest publish(const AttemptFolder& attempt, const PartPlan& plan, const RunIdentity& identity,
                 const std::vector<SealedPart>& sealed, Assembly* assembly,
                 const std::vector<std::uint64_t>& failed_items, const ManifestNotes& notes);

}  // namespace sluice
