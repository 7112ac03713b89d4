#pragma once

#include <string>

#include "core/machine/placement.hpp"

namespace sluice {

/// The machine, NUMA node by NUMA node: a character a core for whose it is and what runs there, GPUs and NICs where
/// they are attached; then a table of the ranks, and the placement's notes. docs/topology.md explains it.
[[nodiscard]] std::string topology_text(const Topology& topology, const RankLayout& layout, const Placement& placement);

}  // namespace sluice
