#pragma once

#include <nlohmann/json.hpp>

#include "core/machine/placement.hpp"

namespace sluice {

/// What topology_text() draws, for machines: "machine", "ranks" and "notes". docs/topology.md has the keys.
[[nodiscard]] nlohmann::ordered_json topology_json(const Topology& topology, const RankLayout& layout,
                                                   const Placement& placement);

}  // namespace sluice
