#pragma once

#include <string>
#include <vector>

#include "core/machine/placement.hpp"

namespace sluice {

/// The ranks and the CPUs of their threads: a line for each rank, and one more for each further GPU of it.
[[nodiscard]] std::string placement_table(const Topology& topology, const RankLayout& layout,
                                          const Placement& placement);

/// What of `placement` is not as it should be, each with what to do about it: cores or GPUs that are shared, a GPU far
/// from its driver or without one, a place that is not known.
[[nodiscard]] std::vector<std::string> notes_on(const Topology& topology, const RankLayout& layout,
                                                const Placement& placement);

/// The machine, NUMA node by NUMA node: a character a core for whose it is and what runs there, GPUs and NICs where
/// they are attached; then a table of the ranks, and the placement's notes. docs/topology.md explains it.
[[nodiscard]] std::string topology_text(const Topology& topology, const RankLayout& layout, const Placement& placement);

}  // namespace sluice
