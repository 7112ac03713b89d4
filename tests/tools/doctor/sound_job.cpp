#include "tests/tools/doctor/sound_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/machine/cpu_set.hpp"
#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/report.hpp"

namespace sluice::test {

RankFacts sound_rank(std::uint32_t rank, std::uint32_t ranks_per_node) {
    const std::uint32_t place = rank % ranks_per_node;
    const std::string cpus = CpuSet::range(4 * place, 4 * place + 3).text();
    const std::string gpu = std::to_string(10 + place);
    RankFacts facts{.rank = rank, .node = rank - place, .host = fmt::format("n{:02}", rank / ranks_per_node + 1)};
    facts.mask = cpus;
    facts.allowed = CpuSet::range(0, 4 * ranks_per_node - 1).text();
    facts.mask_cpus = facts.mask_cores = facts.own_cores = 4;
    facts.allowed_cores = 4 * ranks_per_node;
    facts.threads = place == 0 ? 3 : 2;
    for (std::uint32_t i = 0; i < ranks_per_node; ++i) {
        facts.seen.push_back(fmt::format("GPU-{}", 10 + i));
    }
    facts.machine_gpus = ranks_per_node;
    facts.gpus = {{.id = fmt::format("GPU-{}", gpu),
                   .pci = fmt::format("0000:{}:00.0", gpu),
                   .name = "NVIDIA H200",
                   .near = cpus,
                   .driver = cpus,
                   .copies = {.pinned_up = 50e9, .pinned_down = 50e9, .pageable_up = 9e9, .pageable_down = 9e9}}};
    facts.transport = {.library = "Open MPI v4.1.4", .layer = "ob1", .ways = {"vader", "tcp"}, .interfaces = {"eth0"}};
    facts.clock_error_seconds = rank == 0 ? 0 : 3e-6;
    return facts;
}

DoctorFacts sound(std::uint32_t nodes, SlurmVersion version) {
    const std::uint32_t ranks = nodes * 2;
    DoctorFacts facts{.launch = {.launcher = Launcher::srun,
                                 .tasks = ranks,
                                 .on_one_node = nodes == 1,
                                 .has_manager = true,
                                 .evidence = fmt::format("SLURM_STEP_NUM_TASKS={}", ranks),
                                 .slurm_job = "4711",
                                 .nodes = nodes},
                      .slurm = version,
                      .world = ranks,
                      .wish = {.device = DeviceKind::automatic},
                      .device = DeviceKind::cuda};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        facts.ranks.push_back(sound_rank(rank, 2));
    }
    for (std::uint32_t node = 1; node < nodes; ++node) {
        facts.links.push_back({.to = static_cast<int>(2 * node), .latency_seconds = 2e-6, .bytes_per_second = 10e9});
    }
    facts.output = OutputFacts{.folder = "/scratch", .file_system = "lustre", .free_bytes = 1ULL << 40U};
    return facts;
}

DoctorFacts sound_host() {
    DoctorFacts facts = sound();
    facts.device = facts.wish.device = DeviceKind::host;
    for (RankFacts& rank : facts.ranks) {
        rank.gpus.clear();
        rank.seen.clear();
        rank.threads = 1;
    }
    return facts;
}

std::vector<Finding> wrong(const DoctorFacts& facts) {
    std::vector<Finding> findings = diagnose(facts);
    std::erase_if(findings, [](const Finding& finding) { return finding.severity == Severity::ok; });
    return findings;
}

Finding only(const DoctorFacts& facts, const std::string& id) {
    const std::vector<Finding> findings = wrong(facts);
    EXPECT_EQ(findings.size(), 1U) << doctor_text(facts, findings);
    const auto found = std::ranges::find(findings, id, &Finding::id);
    EXPECT_NE(found, findings.end()) << "no " << id << " in\n" << doctor_text(facts, findings);
    return found == findings.end() ? Finding() : *found;
}

}  // namespace sluice::test
