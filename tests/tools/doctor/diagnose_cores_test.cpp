#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/machine/cpu_set.hpp"
#include "tests/tools/doctor/sound_job.hpp"

namespace sluice {
namespace {

using test::only;
using test::sound;
using test::sound_host;
using test::wrong;
using testing::HasSubstr;

TEST(DoctorCores, FindsAStepThatDidNotInheritItsCpus) {
    DoctorFacts facts = sound_host();
    facts.launch.cpus_per_task = 16;
    for (RankFacts& rank : facts.ranks) {
        rank.mask_cpus = rank.mask_cores = rank.own_cores = 1;
    }

    const Finding finding = only(facts, "W-HWL-131");

    EXPECT_EQ(finding.what, "ranks 0-1 on n01: 1 CPU each, but the job asked for 16 (SLURM_CPUS_PER_TASK)");
    EXPECT_EQ(finding.remedy, "#SBATCH --cpus-per-task=16, and srun --cpus-per-task=16, which does not inherit it");
    facts.slurm = SlurmVersion{22, 5};
    EXPECT_EQ(only(facts, "W-HWL-131").remedy, finding.remedy);
    for (RankFacts& rank : facts.ranks) {
        rank.threads = 20;
        rank.job_cpus = 64;  // of a node of which nobody knows how many it has
    }
    EXPECT_THAT(only(facts, "W-HWL-131").remedy, HasSubstr("srun --cpus-per-task=20,"));
}

TEST(DoctorCores, BlamesSlurmsConfigurationForCpusThatAreNotThere) {
    DoctorFacts facts = sound_host();
    facts.launch.cpus_per_task = 16;
    for (RankFacts& rank : facts.ranks) {
        rank.machine_cpus = 4;
        rank.job_cpus = 32;
        rank.mask_cpus = 4;
    }

    EXPECT_THAT(only(facts, "W-HWL-131").remedy, HasSubstr("the node has 4, but Slurm assumes 32: correct CPUs= in"));
}

TEST(DoctorCores, AdvisesNoNumberThatNoNodeHas) {
    DoctorFacts facts = sound_host();
    for (RankFacts& rank : facts.ranks) {
        rank.machine_cpus = rank.job_cpus = 8;
    }
    facts.launch.cpus_per_task = 60'000;
    EXPECT_EQ(only(facts, "W-HWL-131").remedy, "the node has 8: unset the variable if another job left it");

    facts.wish.layout.cpus_per_rank = 60'001;
    EXPECT_EQ(only(facts, "W-HWL-131").remedy, "the node has 8: lower layout.cpus_per_rank");
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

    EXPECT_EQ(finding.what, "rank 0 on n01: 2 cores for 3 busy threads that need one each");
    EXPECT_THAT(finding.remedy, HasSubstr("srun --cpus-per-task=6"));
    facts.ranks[0].mask_cpus = 3;  // one of which shares its core with another job's
    EXPECT_THAT(only(facts, "W-HWL-132").remedy, HasSubstr("srun --cpus-per-task=6"));
}

TEST(DoctorCores, SaysItInMpirunsWords) {
    DoctorFacts facts = sound();
    facts.launch.launcher = Launcher::mpirun;
    facts.ranks[0].own_cores = 2;

    EXPECT_EQ(only(facts, "W-HWL-132").remedy, "mpirun --map-by ppr:2:node:pe=3 sluice …");
}

TEST(DoctorCores, AdvisesFewerDevicesWhereTheNodeHasNoMoreCores) {
    DoctorFacts facts = sound_host();
    facts.launch.launcher = Launcher::mpirun;
    facts.launch.slurm_job = {};
    facts.wish.devices = 6;
    for (RankFacts& rank : facts.ranks) {
        rank.threads = 6;
        rank.machine_cpus = 64;
    }

    EXPECT_EQ(only(facts, "W-HWL-132").remedy,
              "the node has 8 CPUs for 2 ranks: lower run.devices to 4, or leave it out");

    facts.launch.slurm_job = "4711";  // which can give the job more of the 64
    EXPECT_EQ(only(facts, "W-HWL-132").remedy, "mpirun --map-by ppr:2:node:pe=6 sluice …");

    facts.ranks[0].machine_cpus = facts.ranks[1].machine_cpus = 8;
    EXPECT_THAT(only(facts, "W-HWL-132").remedy, HasSubstr("lower run.devices to 4"));
}

TEST(DoctorCores, AdvisesNothingForGpusOfANodeWithTooFewCores) {
    DoctorFacts facts = sound();
    facts.ranks[0].own_cores = facts.ranks[0].machine_cpus = 2;
    facts.ranks[0].mask_cores = facts.ranks[0].mask_cpus = 2;

    EXPECT_EQ(only(facts, "W-HWL-132").remedy, "");
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

TEST(DoctorCores, AdvisesFewerRanksWhereTheNodeHasNoCoreForEach) {
    const auto remedy_of = [](std::uint32_t cpus) {
        DoctorFacts facts = sound_host();
        facts.launch.launcher = Launcher::mpirun;
        facts.launch.slurm_job = {};
        facts.ranks.push_back(facts.ranks.back());
        facts.ranks.back().rank = 2;
        for (RankFacts& rank : facts.ranks) {  // as with --bind-to core:overload-allowed
            rank.mask = "0";
            rank.allowed = fmt::format("0-{}", cpus - 1);
            rank.mask_cpus = rank.mask_cores = rank.threads = 1;
            rank.machine_cpus = rank.allowed_cores = cpus;
            rank.has_own_cores = false;
        }
        facts.ranks.back().mask = fmt::format("1-{}", cpus - 1);
        facts.ranks.back().has_own_cores = true;
        return only(facts, "W-HWL-133").remedy;
    };

    EXPECT_EQ(remedy_of(2), "mpirun --map-by ppr:2:node sluice …");
    EXPECT_EQ(remedy_of(4), "mpirun --map-by ppr:3:node:pe=1 sluice …");
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

TEST(DoctorCores, FindsAJobThatSlurmDoesNotConfineToItsCores) {
    DoctorFacts facts = sound_host();
    for (RankFacts& rank : facts.ranks) {
        rank.mask = rank.allowed = "0-63";
        rank.mask_cpus = rank.mask_cores = rank.allowed_cores = 64;
        rank.job_cpus = 4;
    }

    const Finding finding = only(facts, "W-HWL-145");

    EXPECT_EQ(finding.what,
              "ranks 0-1 on n01: the job has 4 CPUs of the node, but may run on 64 cores (CPUs 0-63): its threads and "
              "those of other jobs there are bound to the same ones");
    EXPECT_THAT(finding.remedy, HasSubstr("#SBATCH --exclusive; or layout.bind = \"inherit\""));

    DoctorFacts alone = facts;
    alone.ranks[0].job_cpus = alone.ranks[1].job_cpus = 64;
    EXPECT_EQ(wrong(alone).size(), 0U);
    facts.wish.layout.bind = BindMode::inherit;
    EXPECT_EQ(wrong(facts).size(), 0U) << "the kernel moves the threads";
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

TEST(DoctorCores, AdvisesWholeCores) {
    DoctorFacts facts = sound_host();
    const RankFacts first = facts.ranks[0];
    facts.ranks.clear();
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
        RankFacts& one = facts.ranks.emplace_back(first);
        one.rank = rank;
        one.mask = std::to_string(rank);
        one.mask_cpus = one.mask_cores = one.own_cores = 1;
        one.allowed = "0-15";  // of 8 cores
    }
    facts.world = facts.launch.tasks = 5;

    EXPECT_THAT(only(facts, "W-HWL-134").remedy, HasSubstr("srun --cpus-per-task=2,"));
}

TEST(DoctorCores, FindsHostsThatCannotMultiplyInBf16) {
    DoctorFacts facts = sound_host();
    facts.wish.precision = Precision::bf16;
    facts.ranks[0].instructions = "amx";
    facts.ranks[1].instructions = "avx512";

    const Finding finding = only(facts, "E-HWL-146");

    EXPECT_EQ(finding.severity, Severity::error);
    EXPECT_EQ(finding.code, ExitCode::unavailable);
    EXPECT_EQ(finding.what,
              "rank 1 on n01: run.precision = \"bf16\" needs AMX on hosts, but the CPUs there have avx512, or "
              "DNNL_MAX_CPU_ISA allows no more");
    EXPECT_THAT(finding.remedy, HasSubstr("set run.precision = \"fp32\""));

    facts.device = DeviceKind::cuda;
    facts.wish.device = DeviceKind::automatic;
    EXPECT_THAT(wrong(facts), testing::Each(testing::Field(&Finding::id, testing::Ne("E-HWL-146"))));
    facts.device = facts.wish.device = DeviceKind::host;
    facts.wish.precision = Precision::fp32;
    EXPECT_EQ(wrong(facts).size(), 0U);
}

TEST(DoctorCores, FindsThatNoThreadCanBeTied) {
    DoctorFacts facts = sound();
    facts.ranks[1].why_unbindable = "hwloc was told to describe another machine";

    EXPECT_EQ(only(facts, "W-HWL-077").what,
              "rank 1 on n01: threads are not bound to their CPUs: hwloc was told to describe another machine");
}

}  // namespace
}  // namespace sluice
