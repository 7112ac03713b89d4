#include "tools/doctor/fact_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/machine/cpu_set.hpp"

namespace sluice {
namespace {

/// Hosts without duplicates.
std::vector<std::string> hosts_of(const RankList& ranks) {
    std::vector<std::string> hosts;
    for (const RankFacts* rank : ranks) {
        if (std::ranges::find(hosts, rank->host) == hosts.end()) {
            hosts.push_back(rank->host);
        }
    }
    return hosts;
}

}  // namespace

std::string who(const RankList& ranks) {
    std::vector<std::uint32_t> numbers;
    for (const RankFacts* rank : ranks) {
        numbers.push_back(rank->rank);
    }
    const std::vector<std::string> hosts = hosts_of(ranks);
    return fmt::format("rank{} {} on {}", numbers.size() == 1 ? "" : "s", list_text(numbers),
                       hosts.size() == 1 ? hosts.front() : fmt::format("{} nodes", hosts.size()));
}

std::map<std::uint32_t, RankList> by_node(std::span<const RankFacts> ranks) {
    std::map<std::uint32_t, RankList> nodes;
    for (const RankFacts& rank : ranks) {
        nodes[rank.node].push_back(&rank);
    }
    return nodes;
}

void Sayings::say(const RankFacts& rank, const char* id, std::string what, std::string remedy) {
    RankList& ranks = sayings_[{id, std::move(what), std::move(remedy)}];
    if (ranks.empty() || ranks.back() != &rank) {
        ranks.push_back(&rank);
    }
}

std::vector<Finding> Sayings::take() const {
    std::vector<Finding> findings;
    for (const auto& [saying, ranks] : sayings_) {
        findings.push_back({.severity = Severity::warning,
                            .id = saying.id,
                            .what = fmt::format("{}: {}", who(ranks), saying.what),
                            .remedy = saying.remedy});
    }
    return findings;
}

}  // namespace sluice
