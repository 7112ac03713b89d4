#include <fmt/format.h>

#include "core/text_columns.hpp"
#include "tools/doctor/fact_groups.hpp"
#include "tools/doctor/topics.hpp"

namespace sluice {

std::vector<Finding> diagnose_launch(const DoctorFacts& facts, const Remedies& remedies) {
    std::vector<Finding> findings;
    const Launch& launch = facts.launch;
    if (const auto singletons = find_singletons(launch, asked_world(facts))) {
        findings.push_back(error("E-SLM-073", ExitCode::configuration, singletons->what, remedies.meet()));
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
    return findings;
}

}  // namespace sluice
