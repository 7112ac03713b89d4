#include "tools/doctor/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/machine/cpu_set.hpp"
#include "tools/doctor/remedies.hpp"
#include "tools/doctor/topics.hpp"

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

/// Ranks' failures to examine their node, with a remedy if known.
std::vector<Finding> failures_of(const DoctorFacts& facts, const Remedies& remedies) {
    std::map<std::string, RankList> failed;
    for (const RankFacts& rank : facts.ranks) {
        if (!rank.failure.id.empty()) {
            failed[rank.failure.id + rank.failure.what].push_back(&rank);
        }
    }
    std::vector<Finding> findings;
    for (const auto& [key, ranks] : failed) {
        const RankFacts& first = *ranks.front();
        const bool no_gpu = first.failure.id == "E-GPU-061";
        findings.push_back(error(first.failure.id.c_str(), static_cast<ExitCode>(first.failure_code),
                                 fmt::format("{}: {}", who(ranks), first.failure.what),
                                 no_gpu ? remedies.gpus_per_node(facts.wish.devices.value_or(1)) : first.failure.hint));
    }
    return findings;
}

}  // namespace

std::optional<std::uint32_t> asked_world(const DoctorFacts& facts) {
    return facts.world == 0 ? std::nullopt : std::optional(facts.world);
}

Finding warning(const char* id, std::string what, std::string remedy) {
    return {.severity = Severity::warning, .id = id, .what = std::move(what), .remedy = std::move(remedy)};
}

Finding error(const char* id, ExitCode code, std::string what, std::string remedy) {
    return {.severity = Severity::error, .code = code, .id = id, .what = std::move(what), .remedy = std::move(remedy)};
}

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
        const auto& [id, what, remedy] = saying;
        findings.push_back(warning(id.c_str(), fmt::format("{}: {}", who(ranks), what), remedy));
    }
    return findings;
}

std::vector<Finding> diagnose(const DoctorFacts& facts) {
    const Remedies remedies(facts);
    std::vector<Finding> all;
    const auto add = [&](std::string_view topic, std::vector<Finding> findings, const std::string& if_well) {
        if (findings.empty() && !if_well.empty()) {
            findings.push_back({.what = if_well});
        }
        for (Finding& finding : findings) {
            finding.topic = topic;
            all.push_back(std::move(finding));
        }
    };
    std::vector<Finding> launch = diagnose_launch(facts, remedies);
    const bool alone = find_singletons(facts.launch, asked_world(facts)).has_value();
    add("launch", std::move(launch), alone ? "" : launch_line(facts));
    if (alone) {
        return all;  // the others are unknown
    }
    std::vector<Finding> gpus = failures_of(facts, remedies);
    std::ranges::move(diagnose_gpus(facts, remedies), std::back_inserter(gpus));
    add("cores", diagnose_cores(facts, remedies), cores_line(facts));
    add("gpus", std::move(gpus), gpus_line(facts));
    add("memory", diagnose_memory(facts, remedies), memory_line(facts));
    add("network", diagnose_network(facts, remedies), network_line(facts));
    add("clocks", diagnose_clocks(facts), clocks_line(facts));
    add("output", diagnose_output(facts), output_line(facts));
    return all;
}

ExitCode code_of(std::span<const Finding> findings) {
    const auto first = std::ranges::find(findings, Severity::error, &Finding::severity);
    return first == findings.end() ? ExitCode::ok : first->code;
}

}  // namespace sluice
