#include "core/machine/core_share.hpp"

#include <algorithm>
#include <tuple>

namespace sluice {
namespace {

using Cores = std::vector<std::uint32_t>;

class CoreDealer {
public:
    CoreDealer(const Topology& topology, std::span<const CoreClaim> ranks)
        : topology_(topology), ranks_(ranks), shares_(ranks.size()) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            shares_[rank].is_own = !ranks[rank].is_limited;
            for (const CpuSet& home : ranks[rank].homes) {
                claim(rank, ranks[rank].mask & home);
            }
            if (homes_of(rank).empty()) {
                claim(rank, ranks[rank].mask);
            }
        }
    }

    std::vector<CoreShare> deal() {
        deal_homes();
        while (widen_those_without()) {
            deal_homes();
        }
        lend_free_cores();
        share_where_there_are_too_few();
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            CoreShare& share = shares_[rank];
            share.cores = share.is_own ? dealt_to(rank) : homes_of(rank);
            for (const std::uint32_t core : share.cores) {
                share.cpus |= topology_.cores[core].cpus & ranks_[rank].mask;
            }
        }
        return std::move(shares_);
    }

private:
    /// A rank wants cores of one of its homes.
    struct Claim {
        std::size_t rank = 0;
        Cores home{};
        Cores dealt{};
    };

    void claim(std::size_t rank, const CpuSet& cpus) {
        Cores home = cores_meeting(cpus);
        const std::span<const Claim> earlier = claims_of(rank);
        const bool is_new = std::ranges::find(earlier, home, &Claim::home) == earlier.end();
        if (!home.empty() && is_new) {
            claims_.push_back({.rank = rank, .home = std::move(home)});
        }
    }

    [[nodiscard]] Cores cores_meeting(const CpuSet& cpus) const {
        Cores cores;
        for (std::uint32_t i = 0; i < topology_.cores.size(); ++i) {
            if (topology_.cores[i].cpus.meets(cpus)) {
                cores.push_back(i);
            }
        }
        return cores;
    }

    [[nodiscard]] std::span<const Claim> claims_of(std::size_t rank) const {
        return {std::ranges::lower_bound(claims_, rank, {}, &Claim::rank),
                std::ranges::upper_bound(claims_, rank, {}, &Claim::rank)};
    }

    /// What all claims of a rank have in `part`, ascending.
    [[nodiscard]] Cores all_of(std::size_t rank, Cores Claim::*part) const {
        Cores all;
        for (const Claim& claim : claims_of(rank)) {
            all.insert(all.end(), (claim.*part).begin(), (claim.*part).end());
        }
        std::ranges::sort(all);
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }
    [[nodiscard]] Cores dealt_to(std::size_t rank) const { return all_of(rank, &Claim::dealt); }
    [[nodiscard]] Cores homes_of(std::size_t rank) const { return all_of(rank, &Claim::home); }

    /// Claims of ranks with own cores; those of the smallest homes first: the others have more to choose from.
    [[nodiscard]] std::vector<std::size_t> order_of_choice() const {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            if (shares_[claims_[i].rank].is_own) {
                order.push_back(i);
            }
        }
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return claims_[i].home.size(); });
        return order;
    }

    /// How many cores each claim gets when all take one in turn, those first that fewest others want.
    [[nodiscard]] std::vector<std::size_t> fair_counts(const std::vector<std::size_t>& order) const {
        std::vector<std::uint32_t> wanted(topology_.cores.size());
        for (const std::size_t i : order) {
            for (const std::uint32_t core : claims_[i].home) {
                ++wanted[core];
            }
        }
        std::vector<bool> free(topology_.cores.size(), true);
        std::vector<std::size_t> counts(claims_.size());
        for (bool again = true; again;) {
            again = false;
            for (const std::size_t i : order) {
                const Cores& home = claims_[i].home;
                const auto best = std::ranges::min_element(
                    home, {}, [&](std::uint32_t core) { return std::tuple(!free[core], wanted[core]); });
                if (free[*best]) {
                    free[*best] = false;
                    ++counts[i];
                    again = true;
                }
            }
        }
        return counts;
    }

    /// As many cores as are fair, but neighbours.
    void deal_homes() {
        const std::vector<std::size_t> order = order_of_choice();
        const std::vector<std::size_t> counts = fair_counts(order);
        free_.assign(topology_.cores.size(), true);
        for (const std::size_t i : order) {
            claims_[i].dealt.clear();
            for (const std::uint32_t core : claims_[i].home) {
                if (free_[core] && claims_[i].dealt.size() < counts[i]) {
                    take(claims_[i], core);
                }
            }
        }
    }

    /// A rank that got nothing near its devices looks at its whole mask. True when there was one.
    bool widen_those_without() {
        bool widened = false;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const Cores all = cores_meeting(ranks_[rank].mask);
            if (shares_[rank].is_own && dealt_to(rank).empty() && homes_of(rank).size() < all.size()) {
                claim_of(rank).home = all;
                widened = true;
            }
        }
        return widened;
    }

    void lend_free_cores() {
        for (bool again = true; again;) {
            again = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                const std::size_t has = dealt_to(rank).size();
                if (shares_[rank].is_own && has > 0 && has < ranks_[rank].threads) {
                    again = lend_to(rank) || again;
                }
            }
        }
    }

    bool lend_to(std::size_t rank) {
        const CpuSet package = package_around(topology_.cores[dealt_to(rank).front()].cpus);
        const Cores mine = cores_meeting(ranks_[rank].mask);
        const auto best = std::ranges::min_element(mine, {}, [&](std::uint32_t core) {
            return std::tuple(!free_[core], !topology_.cores[core].cpus.meets(package));
        });
        if (!free_[*best]) {
            return false;
        }
        take(claim_of(rank), *best);
        return true;
    }

    [[nodiscard]] CpuSet package_around(const CpuSet& cpus) const {
        const auto found =
            std::ranges::find_if(topology_.packages, [&](const Package& package) { return package.cpus.meets(cpus); });
        return found == topology_.packages.end() ? topology_.cpus : found->cpus;
    }

    /// A rank without a core of its own runs on its whole homes, and so do those whose cores lie there.
    void share_where_there_are_too_few() {
        std::vector<bool> shared(topology_.cores.size());
        const auto is_shared = [&](std::uint32_t core) { return shared[core]; };
        for (bool again = true; again;) {
            again = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                const Cores mine = shares_[rank].is_own ? dealt_to(rank) : Cores();
                if (shares_[rank].is_own && (mine.empty() || std::ranges::any_of(mine, is_shared))) {
                    shares_[rank].is_own = false;
                    for (const std::uint32_t core : homes_of(rank)) {
                        shared[core] = true;
                    }
                    again = true;
                }
            }
        }
    }

    Claim& claim_of(std::size_t rank) { return *std::ranges::lower_bound(claims_, rank, {}, &Claim::rank); }

    void take(Claim& claim, std::uint32_t core) {
        free_[core] = false;
        claim.dealt.push_back(core);
    }

    const Topology& topology_;
    std::span<const CoreClaim> ranks_;
    std::vector<Claim> claims_;  // in the order of their ranks
    std::vector<CoreShare> shares_;
    std::vector<bool> free_;
};

/// One CPU of each core, then the second ones, and so on.
std::vector<CpuSet> hardware_threads(const std::vector<CpuSet>& cores) {
    std::vector<CpuSet> threads;
    bool found = true;
    for (std::size_t turn = 0; found; ++turn) {
        found = false;
        for (const CpuSet& core : cores) {
            if (const std::vector<std::uint32_t> cpus = core.cpus(); turn < cpus.size()) {
                threads.push_back(CpuSet::range(cpus[turn], cpus[turn]));
                found = true;
            }
        }
    }
    return threads;
}

CpuSet join(const std::vector<CpuSet>& slots, std::size_t begin, std::size_t end) {
    CpuSet all;
    for (std::size_t i = begin; i < end; ++i) {
        all |= slots[i];
    }
    return all;
}

}  // namespace

std::vector<CoreShare> share_cores(const Topology& topology, std::span<const CoreClaim> ranks) {
    return CoreDealer(topology, ranks).deal();
}

ThreadShare share_threads(const Topology& topology, const CoreShare& share, std::uint32_t threads, std::uint32_t pool) {
    std::vector<CpuSet> slots;
    for (const std::uint32_t core : share.cores) {
        slots.push_back(topology.cores[core].cpus & share.cpus);
    }
    if (slots.size() < threads + (pool == 0 ? 0U : 1U)) {
        slots = hardware_threads(slots);
    }
    if (!share.is_own || slots.size() < threads) {
        return {.threads = std::vector<CpuSet>(threads, share.cpus)};
    }
    const std::size_t runs = std::clamp<std::size_t>(slots.size(), threads, std::size_t{threads} + pool);
    const auto bound = [&](std::size_t run) { return runs == 0 ? 0 : run * slots.size() / runs; };
    ThreadShare result;
    for (std::uint32_t i = 0; i < threads; ++i) {
        result.threads.push_back(join(slots, bound(i), bound(i + 1)));
    }
    result.pool = join(slots, bound(threads), pool == 0 ? bound(threads) : slots.size());
    return result;
}

}  // namespace sluice
