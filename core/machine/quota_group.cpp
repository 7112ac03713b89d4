#include "core/machine/quota_group.hpp"

namespace sluice {

std::optional<QuotaGroup> quota_group_of(const Topology& topology, const RankLayout& layout, std::size_t me) {
    const NodeRank& mine = layout.ranks[me];
    if (mine.quota_cpus == 0) {
        return std::nullopt;
    }
    QuotaGroup group{.quota_cpus = mine.quota_cpus};
    for (std::size_t rank = 0; rank < layout.ranks.size(); ++rank) {
        const NodeRank& other = layout.ranks[rank];
        if (other.quota_cpus == mine.quota_cpus && other.quota_group == mine.quota_group) {
            group.ranks.push_back(rank);
            group.cpus |= other.mask;
        }
    }
    return group.quota_cpus < cores_in(topology, group.cpus) ? std::optional(std::move(group)) : std::nullopt;
}

}  // namespace sluice
