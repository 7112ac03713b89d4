#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/tools/doctor/sound_job.hpp"

namespace sluice {
namespace {

using test::only;
using test::sound;
using test::sound_host;
using test::wrong;
using testing::HasSubstr;

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

TEST(DoctorLaunch, FindsNothingWrongWithMoreRanksThanTheBatchScriptsTasks) {
    DoctorFacts facts = sound();
    facts.launch.batch_tasks = 1;

    EXPECT_EQ(wrong(facts).size(), 0U);
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
    facts.wish.layout.ranks_per_node = 2;
    facts.wish.layout.cpus_per_rank = 4;
    facts.wish.layout.gpus_per_node = 2;
    EXPECT_EQ(wrong(facts).size(), 0U);

    DoctorFacts ranks = facts;
    ranks.wish.layout.ranks_per_node = 4;
    EXPECT_EQ(only(ranks, "W-SLM-144").what, "ranks 0-3 on 2 nodes: 2 ranks a node, but layout.ranks_per_node = 4");
    EXPECT_EQ(only(ranks, "W-SLM-144").remedy, "#SBATCH --ntasks-per-node=4");

    DoctorFacts cpus = facts;
    cpus.wish.layout.cpus_per_rank = 8;
    EXPECT_EQ(only(cpus, "W-HWL-131").what,
              "ranks 0-3 on 2 nodes: 4 CPUs each, but the job asked for 8 (layout.cpus_per_rank)");

    DoctorFacts gpus = facts;
    gpus.wish.layout.gpus_per_node = 4;
    gpus.ranks[2].seen = gpus.ranks[3].seen = {"GPU-10", "GPU-11", "GPU-12", "GPU-13"};
    gpus.ranks[2].gpus.push_back({.id = "GPU-12", .name = "NVIDIA H200"});
    gpus.ranks[3].gpus.push_back({.id = "GPU-13", .name = "NVIDIA H200"});
    EXPECT_EQ(only(gpus, "W-SLM-144").what, "ranks 0-1 on n01: 2 GPUs visible on a node, but layout.gpus_per_node = 4");
    EXPECT_EQ(only(gpus, "W-SLM-144").remedy, "#SBATCH --gpus-per-node=4");
}

TEST(DoctorLaunch, ComparesNothingWithALayoutThatNobodyWasAskedFor) {
    DoctorFacts facts = sound();
    facts.launch = {};
    facts.world = 1;
    facts.ranks.resize(1);
    const std::vector<Finding> without = wrong(facts);
    facts.wish.layout = {.gpus_per_node = 8, .ranks_per_node = 4, .cpus_per_rank = 64};
    EXPECT_EQ(wrong(facts).size(), without.size());

    facts.launch.slurm_job = "4711";
    EXPECT_EQ(wrong(facts).size(), without.size() + 3);
}

}  // namespace
}  // namespace sluice
