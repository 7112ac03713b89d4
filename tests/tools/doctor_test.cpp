#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cpu_set.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/output_facts.hpp"
#include "tools/doctor/report.hpp"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A rank of a sound job: four cores of its own, a GPU near them.
RankFacts sound_rank(std::uint32_t rank, std::uint32_t ranks_a_node) {
    const std::uint32_t place = rank % ranks_a_node;
    const std::string cpus = CpuSet::range(4 * place, 4 * place + 3).text();
    const std::string gpu = std::to_string(10 + place);
    RankFacts facts{.rank = rank, .node = rank - place, .host = fmt::format("n{:02}", rank / ranks_a_node + 1)};
    facts.mask = cpus;
    facts.allowed = CpuSet::range(0, 4 * ranks_a_node - 1).text();
    facts.mask_cpus = facts.mask_cores = facts.own_cores = 4;
    facts.allowed_cores = 4 * ranks_a_node;
    facts.threads = place == 0 ? 3 : 2;
    for (std::uint32_t i = 0; i < ranks_a_node; ++i) {
        facts.seen.push_back(fmt::format("GPU-{}", 10 + i));
    }
    facts.machine_gpus = ranks_a_node;
    facts.gpus = {{.id = fmt::format("GPU-{}", gpu),
                   .pci = fmt::format("0000:{}:00.0", gpu),
                   .name = "NVIDIA H200",
                   .near = cpus,
                   .driver = cpus,
                   .copies = {.pinned_up = 50e9, .pinned_down = 50e9, .pageable_up = 9e9, .pageable_down = 9e9}}};
    facts.locked_bytes = facts.memory_bytes = UINT64_MAX;
    facts.transport = {.library = "Open MPI v4.1.4", .layer = "ob1", .ways = {"vader", "tcp"}, .interfaces = {"eth0"}};
    facts.clock_error_seconds = rank == 0 ? 0 : 3e-6;
    return facts;
}

/// `nodes` nodes with two ranks each, under srun.
DoctorFacts sound(std::uint32_t nodes = 1, SlurmVersion version = {23, 11}) {
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

/// The same, computing on the host.
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

/// Expects exactly one finding, with this id.
Finding only(const DoctorFacts& facts, const std::string& id) {
    const std::vector<Finding> findings = wrong(facts);
    EXPECT_EQ(findings.size(), 1U) << doctor_text(facts, findings);
    const auto found = std::ranges::find(findings, id, &Finding::id);
    EXPECT_NE(found, findings.end()) << "no " << id << " in\n" << doctor_text(facts, findings);
    return found == findings.end() ? Finding() : *found;
}

TEST(Doctor, FindsNothingInASoundJob) {
    for (const DoctorFacts& facts : {sound(), sound(3), sound_host()}) {
        const std::vector<Finding> findings = diagnose(facts);

        EXPECT_EQ(wrong(facts).size(), 0U) << doctor_text(facts, findings);
        EXPECT_EQ(code_of(findings), ExitCode::ok);
        std::vector<std::string_view> topics;
        std::ranges::transform(findings, std::back_inserter(topics), &Finding::topic);
        EXPECT_THAT(topics, testing::ElementsAre("launch", "cores", "gpus", "memory", "network", "clocks", "output"));
    }
}

TEST(DoctorLaunch, FindsSingletons) {
    DoctorFacts facts = sound();
    facts.world = 1;
    facts.ranks.resize(1);

    const Finding finding = only(facts, "E-SLM-073");

    EXPECT_EQ(finding.code, ExitCode::configuration);
    EXPECT_THAT(finding.what, HasSubstr("2 tasks were started (SLURM_STEP_NUM_TASKS=2), but MPI reports size 1"));
    EXPECT_EQ(finding.remedy, "srun --mpi=pmix sluice …");
}

TEST(DoctorLaunch, FindsSingletonsWithoutAskingMpi) {
    DoctorFacts facts{.launch = sound().launch, .world = 0};
    facts.launch.has_manager = false;

    EXPECT_EQ(only(facts, "E-SLM-073").remedy, "srun --mpi=pmix sluice …");
}

TEST(DoctorLaunch, FindsFewerRanksThanTasks) {
    DoctorFacts facts = sound(2);
    facts.world = 2;

    const Finding finding = only(facts, "E-SLM-073");

    EXPECT_THAT(finding.what, HasSubstr("MPI knows 2 ranks, but 4 tasks were started"));
}

TEST(DoctorLaunch, FindsTasksThatNobodyStarted) {
    DoctorFacts facts = sound_host();
    facts.launch = {.slurm_job = "4711", .batch_tasks = 8, .nodes = 1};
    facts.world = 1;
    facts.ranks.resize(1);
    facts.ranks[0].allowed = facts.ranks[0].mask;

    const Finding finding = only(facts, "W-SLM-130");

    EXPECT_THAT(finding.what, HasSubstr("1 rank, but the job has room for 8 tasks (SLURM_NTASKS=8)"));
    EXPECT_EQ(finding.remedy, "srun --mpi=pmix --ntasks=8 sluice …");
}

TEST(DoctorLaunch, FindsNodesWithoutRanks) {
    DoctorFacts facts = sound();
    facts.launch.nodes = 4;

    const Finding finding = only(facts, "W-SLM-130");

    EXPECT_THAT(finding.what, HasSubstr("on 1 of the job's 4 nodes"));
    EXPECT_EQ(finding.remedy, "srun --mpi=pmix --nodes=4 sluice …");
}

TEST(DoctorLaunch, ComparesWithTheJobsLayout) {
    DoctorFacts facts = sound(2);
    facts.wish.ranks_per_node = 2;
    facts.wish.cpus_per_rank = 4;
    facts.wish.gpus_per_node = 2;
    EXPECT_EQ(wrong(facts).size(), 0U);

    DoctorFacts ranks = facts;
    ranks.wish.ranks_per_node = 4;
    EXPECT_EQ(only(ranks, "W-SLM-144").what, "ranks 0-3 on 2 nodes: 2 ranks a node, but layout.ranks_per_node = 4");
    EXPECT_EQ(only(ranks, "W-SLM-144").remedy, "#SBATCH --ntasks-per-node=4");

    DoctorFacts cpus = facts;
    cpus.wish.cpus_per_rank = 8;
    EXPECT_EQ(only(cpus, "W-HWL-131").what,
              "ranks 0-3 on 2 nodes: 4 CPUs each, but the job asked for 8 (layout.cpus_per_rank=8)");

    DoctorFacts gpus = facts;
    gpus.wish.gpus_per_node = 4;
    gpus.ranks[2].seen = gpus.ranks[3].seen = {"GPU-10", "GPU-11", "GPU-12", "GPU-13"};
    gpus.ranks[2].gpus.push_back({.id = "GPU-12", .name = "NVIDIA H200"});
    gpus.ranks[3].gpus.push_back({.id = "GPU-13", .name = "NVIDIA H200"});
    EXPECT_EQ(only(gpus, "W-SLM-144").what,
              "ranks 0-1 on n01: 2 GPUs in sight on a node, but layout.gpus_per_node = 4");
    EXPECT_EQ(only(gpus, "W-SLM-144").remedy, "#SBATCH --gpus-per-node=4");
}

TEST(DoctorCores, FindsAStepThatDidNotInheritItsCpus) {
    DoctorFacts facts = sound_host();
    facts.launch.cpus_per_task = 16;
    for (RankFacts& rank : facts.ranks) {
        rank.mask_cpus = rank.mask_cores = rank.own_cores = 1;
    }

    const Finding finding = only(facts, "W-HWL-131");

    EXPECT_EQ(finding.what, "ranks 0-1 on n01: 1 CPU each, but the job asked for 16 (SLURM_CPUS_PER_TASK=16)");
    EXPECT_EQ(finding.remedy, "#SBATCH --cpus-per-task=16, and srun --cpus-per-task=16, which does not inherit it");
}

TEST(DoctorCores, KnowsSlurmsThatInherit) {
    DoctorFacts facts = sound_host();
    facts.launch.cpus_per_task = 16;
    facts.slurm = SlurmVersion{21, 8};

    EXPECT_EQ(only(facts, "W-HWL-131").remedy, "#SBATCH --cpus-per-task=16");
}

TEST(DoctorCores, FindsFewerCoresThanThreads) {
    DoctorFacts facts = sound();
    facts.ranks[0].own_cores = 2;
    facts.ranks[0].mask_cores = 2;  // of two hardware threads each

    const Finding finding = only(facts, "W-HWL-132");

    EXPECT_EQ(finding.what, "rank 0 on n01: 2 cores for 3 busy threads that want one each");
    EXPECT_THAT(finding.remedy, HasSubstr("srun --cpus-per-task=6"));
}

TEST(DoctorCores, SaysItInMpirunsWords) {
    DoctorFacts facts = sound();
    facts.launch.launcher = Launcher::mpirun;
    facts.ranks[0].own_cores = 2;

    EXPECT_EQ(only(facts, "W-HWL-132").remedy, "mpirun --map-by ppr:2:node:pe=3 sluice …");
}

TEST(DoctorCores, FindsRanksThatShareThem) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.mask = rank.allowed = "0-1";
        rank.mask_cpus = rank.mask_cores = rank.allowed_cores = 2;
        rank.has_own_cores = false;
        rank.own_cores = 1;
        rank.threads = 2;
    }

    const Finding finding = only(facts, "W-HWL-133");

    EXPECT_EQ(finding.what, "ranks 0-1 on n01: share 2 cores (CPUs 0-1)");
    EXPECT_EQ(finding.remedy, "#SBATCH --ntasks-per-node=1");
}

TEST(DoctorCores, FindsAQuota) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.quota_cpus = 2;
        rank.has_own_cores = false;
    }

    const Finding finding = only(facts, "W-HWL-133");

    EXPECT_THAT(finding.what, HasSubstr("the cgroup's CPU quota is worth 2 of 8 cores"));
    EXPECT_THAT(finding.remedy, HasSubstr("cpu.max"));
}

TEST(DoctorCores, FindsCoresThatNoMaskHolds) {
    DoctorFacts facts = sound_host();
    facts.launch.launcher = Launcher::mpirun;
    for (RankFacts& rank : facts.ranks) {
        rank.mask = std::to_string(rank.rank);
        rank.mask_cpus = rank.mask_cores = rank.own_cores = 1;
    }

    const Finding finding = only(facts, "W-HWL-134");
    EXPECT_EQ(finding.what, "ranks 0-1 on n01: the launcher's masks hold 2 of the node's 8 CPUs for the job");
    EXPECT_EQ(finding.remedy, "mpirun --bind-to none sluice …");

    facts.launch.launcher = Launcher::srun;
    EXPECT_THAT(only(facts, "W-HWL-134").remedy, HasSubstr("srun --cpus-per-task=4"));

    for (RankFacts& rank : facts.ranks) {
        rank.job_cpus = 2;  // on a node that it shares with other jobs
    }
    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorCores, NeverAdvisesNoCpuAtAll) {
    DoctorFacts facts = sound_host();
    facts.ranks.clear();
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        RankFacts& one = facts.ranks.emplace_back(sound_host().ranks[0]);
        one.rank = rank;
        one.mask = CpuSet::range(0, 0).text();
        one.mask_cpus = one.mask_cores = 1;
    }
    facts.world = facts.launch.tasks = 16;

    EXPECT_THAT(only(facts, "W-HWL-134").remedy, HasSubstr("srun --cpus-per-task=1,"));
}

TEST(DoctorCores, FindsThatNoThreadCanBeTied) {
    DoctorFacts facts = sound();
    facts.ranks[1].why_unbindable = "hwloc was told to describe another machine";

    EXPECT_EQ(only(facts, "W-HWL-077").what,
              "rank 1 on n01: no thread is tied to its CPUs: hwloc was told to describe another machine");
}

TEST(DoctorGpus, FindsRanksOnOneGpu) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.seen = {"GPU-10"};
        rank.gpus = {facts.ranks[0].gpus[0]};
    }

    const Finding finding = only(facts, "W-GPU-136");

    EXPECT_EQ(finding.what, "ranks 0-1 on n01: share GPU 10:00.0");
    EXPECT_EQ(finding.remedy, "#SBATCH --ntasks-per-node=1");
}

TEST(DoctorGpus, TellsTheSameGpuOfTwoNodesApart) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].gpus[0].id = facts.ranks[0].gpus[0].id;

    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorGpus, FindsAGpuThatNobodyDrives) {
    DoctorFacts facts = sound();
    facts.ranks[0].seen.push_back("GPU-12");

    EXPECT_EQ(only(facts, "W-GPU-137").what, "ranks 0-1 on n01: none drives GPU-12");
    EXPECT_EQ(only(facts, "W-GPU-137").remedy, "#SBATCH --ntasks-per-node=3");

    facts.wish.devices = 1;
    EXPECT_EQ(only(facts, "W-GPU-137").remedy, "run.devices = \"auto\"");
}

TEST(DoctorGpus, FindsAFarGpuAndWhatKeepsItFar) {
    DoctorFacts facts = sound();
    GpuFacts& gpu = facts.ranks[1].gpus[0];
    gpu.is_near = false;
    gpu.near = "0-3";

    const Finding masked = only(facts, "W-GPU-138");
    EXPECT_EQ(masked.what, "rank 1 on n01: GPU 11:00.0 is attached to CPUs 0-3, but its driver runs on CPUs 4-7");
    EXPECT_EQ(masked.remedy, "srun --cpu-bind=none");

    gpu.near = "64-127";  // outside of the cgroup
    EXPECT_EQ(only(facts, "W-GPU-138").remedy, "#SBATCH --exclusive");

    facts.ranks[1].seen = {"GPU-11"};  // it could not choose
    facts.slurm = SlurmVersion{22, 5};
    EXPECT_EQ(only(facts, "W-GPU-138").remedy, "#SBATCH --gpus-per-node=2 in place of --gpus-per-task and --gpu-bind");
    facts.slurm = SlurmVersion{24, 5};
    EXPECT_THAT(only(facts, "W-GPU-138").remedy, HasSubstr("srun --tres-bind=gres/gpu:none"));
}

TEST(DoctorGpus, SaysOnceWhatHoldsOnEveryNode) {
    DoctorFacts facts = sound(100);
    for (RankFacts& rank : facts.ranks) {
        rank.gpus[0].is_near = rank.rank % 2 == 0;
        rank.gpus[0].near = "0-3";
    }

    EXPECT_THAT(only(facts, "W-GPU-138").what, HasSubstr("on 100 nodes: GPU 11:00.0 is attached to CPUs 0-3"));
}

TEST(DoctorGpus, FindsFewerThanTheJobWants) {
    DoctorFacts facts = sound();
    facts.wish.devices = 4;

    const Finding finding = only(facts, "E-GPU-062");

    EXPECT_EQ(finding.code, ExitCode::configuration);
    EXPECT_EQ(finding.what, "ranks 0-1 on n01: sees 2 GPUs, but run.devices = 4");
    EXPECT_EQ(finding.remedy, "#SBATCH --gpus-per-node=4");
}

TEST(DoctorGpus, SaysWhatKeptARankFromItsGpu) {
    DoctorFacts facts = sound();
    for (RankFacts& rank : facts.ranks) {
        rank.gpus.clear();
        rank.seen.clear();
        rank.failure = {.id = "E-GPU-061", .where = "run.device", .what = "no GPU is in sight", .hint = "get one"};
        rank.failure_code = 69;
    }

    const Finding finding = only(facts, "E-GPU-061");

    EXPECT_EQ(finding.code, ExitCode::unavailable);
    EXPECT_EQ(finding.what, "ranks 0-1 on n01: no GPU is in sight");
    EXPECT_EQ(finding.remedy, "#SBATCH --gpus-per-node=1");
}

TEST(DoctorGpus, FindsAMachineWhoseGpusARunLeavesIdle) {
    DoctorFacts facts = sound_host();
    facts.wish.device = DeviceKind::automatic;
    for (RankFacts& rank : facts.ranks) {
        rank.why_no_cuda = "built without CUDA";
    }
    EXPECT_EQ(only(facts, "W-GPU-135").what,
              "ranks 0-1 on n01: 2 GPUs on the bus of a node, but a run computes on the host: built without CUDA");
    EXPECT_EQ(only(facts, "W-GPU-135").remedy, "build with the preset 'cuda'");

    facts.ranks[0].why_no_cuda = "no CUDA-capable device is detected";
    EXPECT_EQ(only(facts, "W-GPU-135").remedy, "#SBATCH --gpus-per-node=2");
}

TEST(DoctorGpus, FindsSeveralModels) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].gpus[0].name = facts.ranks[3].gpus[0].name = "NVIDIA A100";

    const Finding finding = only(facts, "W-GPU-064");

    EXPECT_EQ(finding.what, "GPUs of several models: NVIDIA A100 (ranks 2-3 on n02), NVIDIA H200 (ranks 0-1 on n01)");
    EXPECT_THAT(finding.remedy, HasSubstr("#SBATCH --gpus-per-node=TYPE:N"));
}

TEST(DoctorGpus, FindsSlowCopies) {
    DoctorFacts facts = sound(2);
    facts.ranks[3].gpus[0].copies.pinned_down = 6e9;

    const Finding finding = only(facts, "W-GPU-139");

    EXPECT_EQ(finding.what, "rank 3 on n02: GPU 11:00.0 copies 6.0 GB/s, the usual GPU of this job 50.0");
    EXPECT_EQ(finding.remedy, "#SBATCH --exclude=n02");
}

TEST(DoctorMemory, FindsALimitOfLockedMemoryWhereAdaptersNeedIt) {
    DoctorFacts facts = sound(2);
    for (RankFacts& rank : facts.ranks) {
        rank.locked_bytes = 8U << 20U;
    }
    EXPECT_EQ(wrong(facts).size(), 0U) << "TCP locks nothing";

    for (RankFacts& rank : facts.ranks) {
        rank.fabrics = {"mlx5_0"};
        rank.transport.layer = "ucx";
    }
    const Finding finding = only(facts, "W-MEM-067");
    EXPECT_EQ(finding.what,
              "ranks 0-3 on 2 nodes: may lock 8.0 MiB of memory (ulimit -l), mlx5_0 needs it for every message");
    EXPECT_THAT(finding.remedy, HasSubstr("#SBATCH --propagate=NONE"));
}

TEST(DoctorNetwork, FindsAFabricThatMpiPassesBy) {
    DoctorFacts facts = sound(2);
    for (RankFacts& rank : facts.ranks) {
        rank.fabrics = {"mlx5_0"};
    }

    const Finding finding = only(facts, "W-MPI-140");

    EXPECT_EQ(finding.what, "ranks 0-3 on 2 nodes: MPI goes by TCP (eth0), although the node has mlx5_0");
    EXPECT_EQ(finding.remedy, "export OMPI_MCA_pml=ucx");
}

TEST(DoctorNetwork, FindsASlowNode) {
    DoctorFacts facts = sound(4);
    facts.links[1].bytes_per_second = 1e9;

    const Finding finding = only(facts, "W-MPI-141");

    EXPECT_EQ(finding.what, "n03: 1000 MB/s from rank 0, the usual node of this job 10000");
    EXPECT_EQ(finding.remedy, "#SBATCH --exclude=n03");
}

TEST(DoctorNetwork, FindsASlowNetwork) {
    DoctorFacts facts = sound(3);
    for (LinkSpeed& link : facts.links) {
        link.bytes_per_second = 100e6;
    }

    const Finding finding = only(facts, "W-MPI-141");

    EXPECT_EQ(finding.what, "100 MB/s between nodes, by eth0");
    EXPECT_THAT(finding.remedy, HasSubstr("export OMPI_MCA_btl_tcp_if_include="));
}

TEST(DoctorNetwork, DoesNotMeasureOneNodesMemoryByTheSameYard) {
    DoctorFacts facts = sound();
    facts.links = {{.to = 1, .latency_seconds = 1e-3, .bytes_per_second = 1e6}};

    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorClocks, FindsTimesThatAreNotKnown) {
    DoctorFacts facts = sound(2);
    facts.ranks[3].clock_error_seconds = 5e-3;

    EXPECT_THAT(only(facts, "W-TRC-142").what, HasSubstr("rank 3 on n02: clocks are known within ± 5000 us only"));
}

TEST(DoctorClocks, FindsWallClocksThatAreApart) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].wall_ahead_seconds = -90;

    const Finding finding = only(facts, "W-TRC-143");

    EXPECT_EQ(finding.what, "rank 2 on n02: the wall clock is 90 s apart from rank 0's");
    EXPECT_THAT(finding.remedy, HasSubstr("chrony"));
}

TEST(DoctorOutput, FindsAFolderThatNobodyCanWriteTo) {
    DoctorFacts facts = sound();
    facts.output->why_not = "nothing can be written there: Permission denied";

    const Finding finding = only(facts, "E-OUT-021");

    EXPECT_EQ(finding.code, ExitCode::cannot_create);
    EXPECT_EQ(finding.what, "/scratch: nothing can be written there: Permission denied");
}

TEST(DoctorOutput, FindsAFullFileSystem) {
    DoctorFacts bytes = sound();
    bytes.output->free_bytes = 1U << 20U;
    DoctorFacts files = sound();
    files.output->free_files = 0;

    EXPECT_EQ(only(bytes, "E-OUT-026").code, ExitCode::cannot_create);
    EXPECT_THAT(only(bytes, "E-OUT-026").what, HasSubstr("1.0 MiB"));
    EXPECT_THAT(only(files, "E-OUT-026").what, HasSubstr("no inode"));
}

TEST(DoctorOutput, FindsMemoryInPlaceOfADisk) {
    DoctorFacts facts = sound();
    facts.output->file_system = "tmpfs";
    facts.output->in_memory = true;

    EXPECT_THAT(only(facts, "W-OUT-027").what, HasSubstr("/scratch: a tmpfs of the node's memory"));
}

TEST(DoctorOutput, FindsNodesThatDoNotSeeIt) {
    DoctorFacts facts = sound(2);
    facts.ranks[2].sees_output = facts.ranks[3].sees_output = false;

    const Finding finding = only(facts, "W-OUT-027");

    EXPECT_THAT(finding.what, HasSubstr("ranks 2-3 on n02: does not see /scratch of rank 0"));
    EXPECT_THAT(finding.remedy, HasSubstr("share"));
}

TEST(DoctorOutput, LooksAtARealFolder) {
    const TemporaryFolder folder;
    OutputFacts facts = look_at_output(folder.path() / "labels.csv");
    EXPECT_EQ(facts.why_not, "");
    EXPECT_GT(facts.free_bytes, 0U);
    std::string path;
    {
        const OutputMarker marker(folder.path() / "labels.csv", facts);
        path = marker.path();
        EXPECT_TRUE(std::filesystem::exists(path)) << path;
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "the marker goes when all have looked";

    OutputFacts missing = look_at_output(folder.path() / "none" / "labels.csv");
    EXPECT_THAT(missing.why_not, HasSubstr("No such file or directory"));
    EXPECT_EQ(OutputMarker(folder.path() / "none" / "labels.csv", missing).path(), "");
    EXPECT_TRUE(look_at_output("/dev/shm/labels.csv").in_memory);
}

TEST(DoctorReport, HasALineAFindingAndTheirNumbers) {
    DoctorFacts facts = sound(2);
    facts.launch.nodes = 3;
    facts.output->why_not = "nothing can be written there: Permission denied";
    const std::vector<Finding> findings = diagnose(facts);

    const std::string text = doctor_text(facts, findings);

    EXPECT_THAT(text, HasSubstr("Slurm 23.11, job 4711\n"));
    EXPECT_THAT(text, HasSubstr("warning  launch   W-SLM-130: "));
    EXPECT_THAT(text, HasSubstr("; fix: srun --mpi=pmix --nodes=3 sluice …\n"));
    EXPECT_THAT(text, HasSubstr("error    output   E-OUT-021: "));
    EXPECT_TRUE(text.ends_with("1 error, 1 warning\n")) << text;
    EXPECT_EQ(code_of(findings), ExitCode::cannot_create);
}

TEST(DoctorReport, IsJsonWithFindingsAndFacts) {
    DoctorFacts facts = sound(2);
    facts.ranks[1].host = "n\xff";

    const nlohmann::json json = nlohmann::json::parse(doctor_json(facts, diagnose(facts)));

    EXPECT_EQ(json.at("findings").size(), 7U);
    EXPECT_EQ(json.at("ranks").size(), 4U);
    EXPECT_EQ(json.at("ranks")[3].at("gpus")[0].at("name"), "NVIDIA H200");
    EXPECT_EQ(json.at("links")[0].at("to"), 2);
    EXPECT_EQ(json.at("output").at("folder"), "/scratch");
    EXPECT_EQ(json.at("slurm"), "23.11");
}

TEST(DoctorFacts, SurviveTheWayToRankZero) {
    RankFacts facts = sound_rank(3, 2);
    facts.failure = {.id = "E-GPU-066", .what = "too little"};
    facts.fabrics = {"mlx5_0"};
    facts.why_unbindable = "why";
    facts.wall_ahead_seconds = -2.5;
    facts.sees_output = false;

    const RankFacts back = decode_rank_facts(encode(facts));

    EXPECT_EQ(encode(back), encode(facts));
    EXPECT_EQ(back.gpus.at(0).copies.pinned_up, 50e9);
    EXPECT_EQ(back.memory_bytes, UINT64_MAX);
    EXPECT_EQ(back.failure.id, "E-GPU-066");
}

TEST(SlurmVersionText, IsReadFromWhatSrunPrints) {
    EXPECT_EQ(parse_slurm_version("slurm 23.11.4\n"), (SlurmVersion{23, 11}));
    EXPECT_EQ(parse_slurm_version("slurm-wlm 22.05.8"), (SlurmVersion{22, 5}));
    EXPECT_EQ(parse_slurm_version("slurm 26.05.0-0rc1"), (SlurmVersion{26, 5}));
    EXPECT_EQ((SlurmVersion{22, 5}).text(), "22.05");
    EXPECT_LT((SlurmVersion{21, 8}), (SlurmVersion{22, 5}));
    for (const char* text :
         {"", "slurm", "slurm ", "slurm x", "slurm 22", "srun 22.05", "slurm 22.", "slurm 99999999999.1"}) {
        EXPECT_EQ(parse_slurm_version(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace sluice
