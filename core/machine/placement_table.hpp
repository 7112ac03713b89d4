#pragma once

#include <string>

#include "core/machine/placement.hpp"

namespace sluice {

/// The ranks and the CPUs of their threads: a line for each rank, and one more for each further GPU of it.
[[nodiscard]] std::string placement_table(const Topology& topology, const RankLayout& layout,
                                          const Placement& placement);

}  // namespace sluice
