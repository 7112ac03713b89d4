#include "core/machine/placement.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/machine/core_share.hpp"
#include "core/machine/gpu_share.hpp"
#include "core/machine/placement_text.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t most_readers = 8;  // parsing scales with cores, a disk does not

/// Where the GPU is attached; anywhere when that is not known.
const CpuSet& near_gpu(const Topology& topology, const VisibleGpu& gpu) {
    const auto index = find_gpu(topology, gpu.pci);
    return index ? topology.gpus[*index].near : topology.cpus;
}

/// 0 in the same place, 1 in the same package, 2 elsewhere.
int distance(const Topology& topology, const CpuSet& a, const CpuSet& b) {
    const bool share_package = std::ranges::any_of(
        topology.packages, [&](const Package& package) { return package.cpus.meets(a) && package.cpus.meets(b); });
    return a.meets(b) ? 0 : share_package ? 1 : 2;
}

class NodePlacer {
public:
    NodePlacer(const Topology& topology, const RankLayout& layout)
        : topology_(topology), layout_(layout), placement_{.ranks = std::vector<RankPlace>(layout.ranks.size())} {}

    Placement place() {
        share_out_gpus();
        share_out_cores();
        for (std::size_t me = 0; me < layout_.ranks.size(); ++me) {
            RankPlace& rank = placement_.ranks[me];
            rank.nic = nearest_nic(rank);
            if (layout_.device == DeviceKind::cuda) {
                place_threads_near_gpus(me);
            } else {
                place_threads_on_host(me);
            }
        }
        placement_.notes = notes_on(topology_, layout_, placement_);
        return std::move(placement_);
    }

private:
    [[nodiscard]] const CpuSet& near_of(std::size_t me, const DevicePlace& device) const {
        return near_gpu(topology_, layout_.ranks[me].gpus[device.number]);
    }

    void share_out_gpus() {
        std::vector<std::vector<std::uint32_t>> localities;  // in the order of their lowest CPUs
        for (const Gpu& gpu : topology_.gpus) {
            localities.push_back(gpu.near.cpus());
        }
        std::ranges::sort(localities);
        std::vector<std::vector<SeenGpu>> seen(layout_.ranks.size());
        for (std::size_t me = 0; me < seen.size(); ++me) {
            for (const VisibleGpu& gpu : layout_.ranks[me].gpus) {
                const CpuSet& near = near_gpu(topology_, gpu);
                const auto locality = std::ranges::lower_bound(localities, near.cpus()) - localities.begin();
                seen[me].push_back({.id = gpu.id,
                                    .near = near.meets(layout_.ranks[me].mask),
                                    .locality = static_cast<std::uint32_t>(locality)});
            }
        }
        const std::vector<std::vector<std::uint32_t>> shares = share_gpus(seen, layout_.devices);
        std::map<std::string, std::uint32_t> ranks;  // that drive each GPU
        for (std::size_t me = 0; me < shares.size(); ++me) {
            for (const std::uint32_t number : shares[me]) {
                ++ranks[seen[me][number].id];
            }
        }
        for (std::size_t me = 0; me < shares.size(); ++me) {
            for (const std::uint32_t number : shares[me]) {
                placement_.ranks[me].devices.push_back({.number = number, .ranks = ranks[seen[me][number].id]});
            }
        }
    }

    void share_out_cores() {
        std::vector<CoreClaim> claims;
        for (std::size_t me = 0; me < layout_.ranks.size(); ++me) {
            const NodeRank& rank = layout_.ranks[me];
            RankPlace& to = placement_.ranks[me];
            const std::uint32_t usable = usable_cores(topology_, rank.mask, rank.quota_cpus);
            to.reader_threads = layout_.reader == me ? planned_readers(usable) : 0;
            std::vector<CpuSet> homes;
            for (const DevicePlace& device : to.devices) {
                homes.push_back(near_of(me, device));
            }
            const auto drivers = static_cast<std::uint32_t>(to.devices.size());
            claims.push_back({.mask = rank.mask,
                              .homes = std::move(homes),
                              .threads = to.devices.empty() ? 1 : drivers + 1 + to.reader_threads,
                              .is_limited = quota_group_of(topology_, layout_, me).has_value()});
        }
        shares_ = share_cores(topology_, claims);
        for (std::size_t me = 0; me < shares_.size(); ++me) {
            RankPlace& to = placement_.ranks[me];
            to.cpus = shares_[me].cpus;
            to.has_own_cores = shares_[me].is_own;
            to.cores = shares_[me].is_own ? static_cast<std::uint32_t>(shares_[me].cores.size()) : even_share(me);
        }
    }

    /// The part of rank `me` of `cores` cores that `sharers`, ascending, share: the first ones get the remainder.
    static std::uint32_t part_of(std::size_t me, std::uint32_t cores, const std::vector<std::size_t>& sharers) {
        const auto count = static_cast<std::uint32_t>(sharers.size());
        const auto before = static_cast<std::uint32_t>(std::ranges::find(sharers, me) - sharers.begin());
        return cores / count + (before < cores % count ? 1U : 0U);
    }

    /// Of the cores that it shares with ranks whose masks meet its own, and of the quota that its cgroup's ranks share.
    [[nodiscard]] std::uint32_t even_share(std::size_t me) const {
        std::vector<std::size_t> sharers;
        for (std::size_t i = 0; i < layout_.ranks.size(); ++i) {
            if (i == me || layout_.ranks[i].mask.meets(layout_.ranks[me].mask)) {
                sharers.push_back(i);
            }
        }
        std::uint32_t cores = part_of(me, cores_in(topology_, layout_.ranks[me].mask), sharers);
        if (const auto group = quota_group_of(topology_, layout_, me)) {
            cores = std::min(cores, part_of(me, group->quota_cpus, group->ranks));
        }
        return std::max(cores, 1U);
    }

    void place_threads_on_host(std::size_t me) {
        RankPlace& rank = placement_.ranks[me];
        const std::uint32_t count = layout_.devices.value_or(rank.cores);
        const ThreadShare threads = share_threads(topology_, shares_[me], count, 0);
        for (std::uint32_t i = 0; i < count; ++i) {
            rank.devices.push_back({.number = i,
                                    .cpus = threads.threads[i],
                                    .memory_node = memory_node_of(topology_, threads.threads[i])});
        }
        rank.comm = rank.cpus;
        rank.readers = rank.cpus;
    }

    /// Threads that want the same cores.
    struct Domain {
        std::vector<std::size_t> devices{};
        bool has_comm = false;
    };

    void place_threads_near_gpus(std::size_t me) {
        RankPlace& rank = placement_.ranks[me];
        std::map<CpuSet, Domain> domains;
        for (std::size_t i = 0; i < rank.devices.size(); ++i) {
            const CpuSet near = rank.cpus & near_of(me, rank.devices[i]);
            rank.devices[i].is_near = !near.empty();
            domains[near.empty() ? rank.cpus : near].devices.push_back(i);
        }
        if (domains.empty()) {  // it sees no GPU
            rank.comm = rank.readers = rank.cpus;
            return;
        }
        comm_domain(rank, domains).has_comm = true;
        const std::uint32_t pool = divided_up(rank.reader_threads, domains.size());
        CpuSet elsewhere = rank.cpus;
        for (const auto& [cpus, domain] : domains) {
            place_domain(me, cpus - smaller_ones_in(domains, cpus), domain, pool);
            elsewhere = elsewhere - cpus;
        }
        rank.readers |= elsewhere;
        if (rank.readers.empty()) {
            rank.readers = rank.cpus;
        }
    }

    static std::uint32_t divided_up(std::uint32_t count, std::size_t parts) {
        return static_cast<std::uint32_t>((count + parts - 1) / parts);
    }

    /// Where one GPU is attached to a part of another's CPUs, that part is the first one's.
    static CpuSet smaller_ones_in(const std::map<CpuSet, Domain>& domains, const CpuSet& cpus) {
        CpuSet smaller;
        for (const auto& [other, unused] : domains) {
            smaller |= other.size() < cpus.size() ? other & cpus : CpuSet();
        }
        return smaller == cpus ? CpuSet() : smaller;
    }

    /// Where there is a core left for it, near the NIC.
    [[nodiscard]] Domain& comm_domain(const RankPlace& rank, std::map<CpuSet, Domain>& domains) const {
        const CpuSet& wanted = rank.nic ? topology_.nics[*rank.nic].near : topology_.cpus;
        const auto cost = [&](const auto& entry) {
            const auto& [cpus, domain] = entry;
            const bool is_full = cores_in(topology_, cpus) <= domain.devices.size();
            return std::tuple(is_full, distance(topology_, cpus, wanted), domain.devices.front());
        };
        return std::ranges::min_element(domains, {}, cost)->second;
    }

    void place_domain(std::size_t me, const CpuSet& cpus, const Domain& domain, std::uint32_t pool) {
        RankPlace& rank = placement_.ranks[me];
        CoreShare share{.cpus = cpus, .is_own = rank.has_own_cores};
        for (const std::uint32_t core : shares_[me].cores) {
            if (topology_.cores[core].cpus.meets(cpus)) {
                share.cores.push_back(core);
            }
        }
        const auto drivers = static_cast<std::uint32_t>(domain.devices.size());
        const ThreadShare threads = share_threads(topology_, share, drivers + (domain.has_comm ? 1U : 0U), pool);
        for (std::size_t i = 0; i < drivers; ++i) {
            DevicePlace& device = rank.devices[domain.devices[i]];
            device.cpus = threads.threads[i];
            device.memory_node = memory_node_of(topology_, device.cpus);
        }
        if (domain.has_comm) {
            rank.comm = threads.threads.back();
        }
        rank.readers |= threads.pool;
    }

    [[nodiscard]] std::optional<std::size_t> nearest_nic(const RankPlace& rank) {
        const CpuSet& where = rank.cpus;
        std::optional<std::size_t> best;
        const auto cost = [&](std::size_t i) {
            const Nic& nic = topology_.nics[i];
            return std::tuple(!nic.fabric, distance(topology_, nic.near, where), nic_users_[i], i);
        };
        for (std::size_t i = 0; i < topology_.nics.size(); ++i) {
            best = !best || cost(i) < cost(*best) ? i : *best;
        }
        if (best) {
            ++nic_users_[*best];
        }
        return best;
    }

    const Topology& topology_;
    const RankLayout& layout_;
    Placement placement_;
    std::vector<CoreShare> shares_;
    std::map<std::size_t, int> nic_users_;
};

}  // namespace

Placement place(const Topology& topology, const RankLayout& layout) {
    return NodePlacer(topology, layout).place();
}

RankLayout equal_ranks(const Topology& topology, const std::vector<VisibleGpu>& gpus,
                       std::optional<std::uint32_t> ranks) {
    const std::size_t count = ranks ? *ranks : std::max<std::size_t>(gpus.size(), 1);
    return {.device = gpus.empty() ? DeviceKind::host : DeviceKind::cuda,
            .ranks = std::vector<NodeRank>(count, {.mask = topology.mask, .gpus = gpus}),
            .reader = 0};
}

std::vector<CpuSet> block_masks(const Topology& topology, std::size_t ranks, std::uint32_t cpus) {
    std::vector<CpuSet> masks;
    CpuSet mask;
    for (const Core& core : topology.cores) {
        if (masks.size() < ranks) {
            mask |= core.cpus & topology.mask;
        }
        if (mask.size() >= cpus && !mask.empty()) {
            masks.push_back(std::exchange(mask, CpuSet()));
        }
    }
    return masks.size() == ranks ? masks : std::vector<CpuSet>();
}

std::uint32_t planned_readers(std::uint32_t cores) {
    return std::clamp(cores / 2, 1U, most_readers);
}

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
