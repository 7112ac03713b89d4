#pragma once

#include <string>
#include <vector>

#include "core/machine/placement.hpp"

namespace sluice {

/// Ranks and CPUs of their threads, a line per rank, and one more per further GPU.
[[nodiscard]] std::string placement_table(const Topology& topology, const RankLayout& layout,
                                          const Placement& placement);

/// Problems of `placement`, each with a remedy: shared cores or GPUs, a GPU far from its driver or without one, a GPU
/// whose location is unknown.
[[nodiscard]] std::vector<std::string> notes_on(const Topology& topology, const RankLayout& layout,
                                                const Placement& placement);

/// The machine by NUMA node: for each core a character for its rank and what runs there, GPUs and NICs where they are
/// attached; then placement_table() and the placement's notes. docs/topology.md explains it.
[[nodiscard]] std::string topology_text(const Topology& topology, const RankLayout& layout, const Placement& placement);

}  // namespace sluice
