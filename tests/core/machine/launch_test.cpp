#include "core/machine/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Launch launch_with(const Variables& variables) {
    return read_launch([&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
}

const Variables step{{"SLURM_JOB_ID", "4711"},      {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"},
                     {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_NTASKS", "4"},         {"PMIX_RANK", "3"},
                     {"SLURM_CPUS_PER_TASK", "8"}};

TEST(Launch, IsByNobodyWithoutALauncher) {
    const Launch launch = launch_with({{"HOME", "/"}});

    EXPECT_EQ(launch.launcher, Launcher::none);
    EXPECT_EQ(launch.tasks, 1U);
    EXPECT_FALSE(launch.may_have_others());
    EXPECT_FALSE(launch.slurm_job);
    EXPECT_FALSE(find_singletons(launch, std::nullopt));
    EXPECT_FALSE(find_singletons(launch, 1));
}

TEST(Launch, ReadsASlurmStep) {
    const Launch launch = launch_with(step);

    EXPECT_EQ(launch.launcher, Launcher::srun);
    EXPECT_EQ(launch.tasks, 4U);
    EXPECT_EQ(launch.number, 3U);
    EXPECT_FALSE(launch.on_one_node);
    EXPECT_EQ(launch.slurm_job, "4711");
    EXPECT_EQ(launch.cpus_per_task, 8U);
    EXPECT_FALSE(launch.batch_tasks);
    EXPECT_FALSE(find_singletons(launch, std::nullopt));
    EXPECT_FALSE(find_singletons(launch, 4));
}

TEST(Launch, AsksNobodyForOthersInASlurmStepOfOneTask) {
    Variables alone{
        {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}};
    EXPECT_FALSE(launch_with(alone).may_have_others());

    alone["PMIX_NAMESPACE"] = "prterun-n0-1234@1";
    EXPECT_TRUE(launch_with(alone).may_have_others()) << "another launcher within the step";
    alone["PMIX_NAMESPACE"] = "slurm.pmix.7.0";
    alone["PMI_SIZE"] = "4";
    EXPECT_TRUE(launch_with(alone).may_have_others()) << "another launcher within the step";
    Variables several = step;
    several["PMIX_NAMESPACE"] = "slurm.pmix.7.0";
    EXPECT_TRUE(launch_with(several).may_have_others());
}

TEST(Launch, ReadsABatchScript) {
    const Launch launch = launch_with({{"SLURM_JOB_ID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});

    EXPECT_EQ(launch.launcher, Launcher::none);
    EXPECT_EQ(launch.tasks, 1U);
    EXPECT_EQ(launch.batch_tasks, 4U);
    EXPECT_FALSE(find_singletons(launch, std::nullopt)) << "one process in a batch script is alone on purpose";
}

TEST(Launch, BelievesMpirunBeforeTheStepAroundIt) {
    const Launch launch = launch_with({{"SLURM_STEP_NUM_TASKS", "1"},
                                       {"SLURM_STEP_NUM_NODES", "1"},
                                       {"SLURM_PROCID", "0"},
                                       {"OMPI_COMM_WORLD_SIZE", "4"},
                                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                                       {"OMPI_COMM_WORLD_RANK", "2"},
                                       {"PMIX_RANK", "2"}});

    EXPECT_EQ(launch.launcher, Launcher::mpirun);
    EXPECT_EQ(launch.tasks, 4U);
    EXPECT_EQ(launch.number, 2U);
    EXPECT_FALSE(launch.on_one_node) << "the step of mpirun's daemon has one node, the ranks have two";
}

TEST(Launch, FindsSingletonsBeforeMpiIsAsked) {
    Variables without_pmix = step;
    without_pmix.erase("PMIX_RANK");

    const auto finding = find_singletons(launch_with(without_pmix), std::nullopt);

    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->id, "E-SLM-073");
    EXPECT_THAT(finding->what, HasSubstr("4 tasks were started (SLURM_STEP_NUM_TASKS=4)"));
    EXPECT_THAT(finding->hint, HasSubstr("srun --mpi=pmix"));
}

TEST(Launch, FindsSingletonsByWhatMpiSays) {
    const auto of_srun = find_singletons(launch_with(step), 1);
    const auto of_mpirun = find_singletons(launch_with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}), 1);

    ASSERT_TRUE(of_srun);
    EXPECT_THAT(of_srun->what, HasSubstr("MPI reports size 1 in each"));
    ASSERT_TRUE(of_mpirun);
    EXPECT_THAT(of_mpirun->what, HasSubstr("OMPI_COMM_WORLD_SIZE=2"));
    EXPECT_THAT(of_mpirun->hint, HasSubstr("the mpirun of the MPI"));
    EXPECT_FALSE(find_singletons(launch_with(step), 2)) << "fewer than started is another finding";
}

TEST(Launch, FindsVariablesThatAnEarlierMpirunLeft) {
    const Launch launch = launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}});

    EXPECT_FALSE(launch.is_other_rank()) << "nobody else would say it";
    for (const std::optional<std::uint32_t> world : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(1)}) {
        const auto finding = find_singletons(launch, world);
        ASSERT_TRUE(finding);
        EXPECT_THAT(finding->what, HasSubstr("OMPI_COMM_WORLD_SIZE=4 is set as by an mpirun of 4 tasks, but none has"));
        EXPECT_THAT(finding->hint, HasSubstr("unset OMPI_COMM_WORLD_SIZE"));
    }
    EXPECT_FALSE(find_singletons(launch_with({{"OMPI_COMM_WORLD_SIZE", "1"}}), 1));
}

TEST(Launch, KnowsATaskByItsNumberWhereSlurmSaysNoMore) {
    const Launch second = launch_with({{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "1"}});

    EXPECT_EQ(second.launcher, Launcher::srun);
    EXPECT_EQ(second.tasks, 2U);
    EXPECT_TRUE(find_singletons(second, std::nullopt));
}

TEST(Launch, KnowsAnotherRankOnlyWhereItsCountIsKnown) {
    EXPECT_TRUE(launch_with(step).is_other_rank());
    EXPECT_TRUE(launch_with({{"PMI_SIZE", "4"}, {"PMI_RANK", "2"}}).is_other_rank());
    EXPECT_FALSE(launch_with({{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}}).is_other_rank());
    EXPECT_FALSE(launch_with({{"SLURM_PROCID", "1"}}).is_other_rank());
    EXPECT_FALSE(launch_with({{"PMI_RANK", "2"}}).is_other_rank());
    EXPECT_FALSE(launch_with({{"PMIX_RANK", "1"}}).is_other_rank());
}

TEST(Launch, IsNotLedAstrayByGarbledVariables) {
    const Launch launch = launch_with({{"OMPI_COMM_WORLD_SIZE", "4x"},
                                       {"SLURM_STEP_NUM_TASKS", "-3"},
                                       {"SLURM_PROCID", "99999999999"},
                                       {"SLURM_JOB_ID", "\x1b[2J"}});

    EXPECT_EQ(launch.launcher, Launcher::none);
    EXPECT_EQ(launch.tasks, 1U);
    EXPECT_EQ(launch.slurm_job, "\\x1b[2J");
}

}  // namespace
}  // namespace sluice
