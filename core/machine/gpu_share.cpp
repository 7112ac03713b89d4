#include "core/machine/gpu_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/error.hpp"

namespace sluice {
namespace {

std::set<std::string> ids_of(const std::vector<SeenGpu>& gpus) {
    std::set<std::string> ids;
    for (const SeenGpu& gpu : gpus) {
        ids.insert(gpu.id);
    }
    return ids;
}

/// How many GPUs a rank drives, and how many ranks may meet on one so that all are used evenly.
struct Share {
    std::uint32_t gpus = 0;
    std::uint32_t most_users = 1;
};

/// A rank among those that see the same GPUs.
struct Sight {
    std::uint32_t gpus = 0;
    std::uint32_t sharers = 0;
    std::uint32_t before = 0;  ///< Sharers of lower rank.
};

std::vector<Sight> sights_of(std::span<const std::vector<SeenGpu>> ranks) {
    std::vector<Sight> sights;
    std::vector<const std::uint32_t*> sharers;
    std::map<std::set<std::string>, std::uint32_t> counts;
    for (const std::vector<SeenGpu>& gpus : ranks) {
        auto& [ids, count] = *counts.try_emplace(ids_of(gpus)).first;
        sights.push_back({.gpus = static_cast<std::uint32_t>(ids.size()), .before = count});
        sharers.push_back(&++count);
    }
    for (std::size_t rank = 0; rank < sights.size(); ++rank) {
        sights[rank].sharers = *sharers[rank];
    }
    return sights;
}

Share share_of(const Sight& sight, std::optional<std::uint32_t> wanted) {
    const auto [seen, sharers, before] = sight;
    const std::uint32_t even = seen / sharers + (before < seen % sharers ? 1U : 0U);
    const std::uint32_t picks = sharers * std::max(1U, wanted.value_or(seen / sharers));  // without the remainder
    return {.gpus = wanted.value_or(std::max(1U, even)), .most_users = (picks - 1) / seen + 1};
}

/// Those that have fewer GPUs near them choose first: the others can do without theirs.
std::vector<std::size_t> order_of_choice(std::span<const std::vector<SeenGpu>> ranks) {
    std::vector<std::size_t> order(ranks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t rank) { return std::ranges::count_if(ranks[rank], &SeenGpu::near); });
    return order;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> share_gpus(std::span<const std::vector<SeenGpu>> ranks,
                                                   std::optional<std::uint32_t> wanted) {
    const std::vector<Sight> sights = sights_of(ranks);
    std::map<std::string, std::uint32_t> users;
    std::vector<std::vector<std::uint32_t>> taken(ranks.size());
    for (const std::size_t me : order_of_choice(ranks)) {
        const std::vector<SeenGpu>& gpus = ranks[me];
        if (gpus.empty()) {
            continue;
        }
        if (wanted > gpus.size()) {
            throw Error(ExitCode::configuration,
                        {.id = "E-GPU-062",
                         .where = "run.devices",
                         .what = fmt::format("{} GPUs were requested, but this rank sees {}", *wanted, gpus.size()),
                         .hint = "lower run.devices, or request more GPUs per node"});
        }
        const Share share = share_of(sights[me], wanted);
        std::vector<std::uint32_t> choice(gpus.size());
        std::iota(choice.begin(), choice.end(), 0U);
        std::ranges::sort(choice, {}, [&](std::uint32_t i) {
            const std::uint32_t already = users[gpus[i].id];
            return std::tuple(already >= share.most_users, !gpus[i].near, already, gpus[i].locality, i);
        });
        choice.resize(std::min<std::size_t>(choice.size(), share.gpus));
        for (const std::uint32_t i : choice) {
            ++users[gpus[i].id];
        }
        taken[me] = std::move(choice);
    }
    return taken;
}

}  // namespace sluice
