#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/run_identity.hpp"

namespace sluice {

/// Makes the parts that `attempt` has sealed appear under their names, and then the manifest: each by a link that
/// replaces nothing. Several parts of one file are put together first. A file that is there already counts when it is
/// what this attempt, or another one of this run, has sealed. Returns the manifest that is there in the end, this
/// attempt's or an equal one. Throws Error: superseded, cannot_create (E-OUT-073) when some other file has the name,
/// io_error.
Manifest publish(const AttemptFolder& attempt, const PartPlan& plan, const RunIdentity& identity,
                 const std::vector<SealedPart>& sealed, const std::vector<std::uint64_t>& failed_items,
                 const std::vector<std::pair<std::string, std::string>>& provenance);

}  // namespace sluice
