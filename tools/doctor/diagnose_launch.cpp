#include <fmt/format.h>

#include "core/text/wording.hpp"
#include "tools/doctor/topics.hpp"

namespace sluice {

namespace {

void look_at_layout(const DoctorFacts& facts, const Remedies& remedies, std::vector<Finding>& findings) {
    const std::optional<std::uint32_t> asked = facts.requested_layout().ranks_per_node;
    RankList others;
    std::size_t count = 0;
    for (const auto& [node, ranks] : by_node(facts.ranks)) {
        if (asked && ranks.size() != *asked) {
            others.insert(others.end(), ranks.begin(), ranks.end());
            count = ranks.size();
        }
    }
    if (!others.empty()) {
        findings.push_back(warning(
            "W-SLM-144",
            fmt::format("{}: {} a node, but layout.ranks_per_node = {}", who(others), count_of(count, "rank"), *asked),
            remedies.ranks_per_node(*asked)));
    }
}

}  // namespace

std::vector<Finding> diagnose_launch(const DoctorFacts& facts, const Remedies& remedies) {
    std::vector<Finding> findings;
    const Launch& launch = facts.launch;
    if (const auto singletons = find_singletons(launch, asked_world(facts))) {
        findings.push_back(error("E-SLM-073", ExitCode::configuration, singletons->what,
                                 launch.is_left_over() ? singletons->hint : remedies.meet()));
        return findings;
    }
    if (facts.world != launch.tasks && launch.launcher != Launcher::none && launch.launcher != Launcher::manager) {
        findings.push_back(error("E-SLM-073", ExitCode::configuration,
                                 fmt::format("MPI knows {}, but {} were started ({})", count_of(facts.world, "rank"),
                                             count_of(launch.tasks, "task"), launch.evidence),
                                 remedies.meet()));
    }
    const std::size_t nodes = by_node(facts.ranks).size();
    if (launch.batch_tasks && *launch.batch_tasks > facts.world) {
        findings.push_back(
            warning("W-SLM-130",
                    fmt::format("{}, but the job has room for {} (SLURM_NTASKS={})", count_of(facts.world, "rank"),
                                count_of(*launch.batch_tasks, "task"), *launch.batch_tasks),
                    remedies.start_all(*launch.batch_tasks)));
    } else if (nodes != 0 && launch.nodes > nodes) {
        findings.push_back(warning("W-SLM-130",
                                   fmt::format("the ranks are on {} of the job's {} (SLURM_JOB_NUM_NODES={})", nodes,
                                               count_of(launch.nodes, "node"), launch.nodes),
                                   remedies.all_nodes(launch.nodes)));
    }
    look_at_layout(facts, remedies, findings);
    return findings;
}

}  // namespace sluice
