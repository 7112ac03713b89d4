#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/machine/placement.hpp"

namespace sluice {

/// Ranks whose CPU time one cgroup's quota limits together.
struct QuotaGroup {
    std::uint32_t quota_cpus = 0;      ///< All of them together.
    std::vector<std::size_t> ranks{};  ///< Ascending.
    CpuSet cpus{};                     ///< Of all their masks.
};

/// The one of rank `me`; nullopt: no quota, or one that is worth all the cores of its ranks.
[[nodiscard]] std::optional<QuotaGroup> quota_group_of(const Topology& topology, const RankLayout& layout,
                                                       std::size_t me);

}  // namespace sluice
