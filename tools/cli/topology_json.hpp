#pragma once

#include <nlohmann/json.hpp>

#include "core/machine/placement.hpp"

namespace sluice {

/// Machine-readable topology_text(): "machine", "ranks" and "notes". Keys: docs/topology.md.
[[nodiscard]] nlohmann::ordered_json topology_json(const Topology& topology, const RankLayout& layout,
                                                   const Placement& placement);

}  // namespace sluice
