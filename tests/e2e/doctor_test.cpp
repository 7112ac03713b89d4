#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// sluice with `arguments`, alone or as ranks, in the environment as it is, but for the variables given as NAME=VALUE.
ProcessResult sluice(const JobFolder& folder, const std::vector<std::string>& arguments, int ranks = 0,
                     const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words{"/usr/bin/env", "CUDA_VISIBLE_DEVICES="};
    words.insert(words.end(), environment.begin(), environment.end());
    for (const std::string& word : launch_words(ranks, arguments)) {
        words.push_back(word);
    }
    return Process(words, {.folder = folder.path()}).wait();
}

const std::vector<std::string> second_of_two{"SLURM_JOB_ID=7", "SLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS=2",
                                             "SLURM_PROCID=1"};
const std::vector<std::string> first_of_two{"SLURM_JOB_ID=7", "SLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS=2",
                                            "SLURM_PROCID=0"};

TEST(Doctor, LooksAtThisProcessAlone) {
    const JobFolder folder(1);

    const ProcessResult result = sluice(folder, {"doctor"});

    EXPECT_EQ(result.exit_code, 0) << result.out;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("ok       launch   1 rank on "));
    EXPECT_THAT(result.out, HasSubstr("0 errors, "));
    folder.expect_nothing_left();
}

TEST(Doctor, TellsSingletonsOnceAndEndsThemAll) {
    const JobFolder folder(1);

    const ProcessResult first = sluice(folder, {"doctor"}, 0, first_of_two);
    const ProcessResult second = sluice(folder, {"doctor"}, 0, second_of_two);

    EXPECT_EQ(first.exit_code, 78);
    EXPECT_THAT(first.out, HasSubstr("E-SLM-073: 2 tasks were started (SLURM_STEP_NUM_TASKS=2)"));
    EXPECT_THAT(first.out, HasSubstr("fix: srun --mpi=pmix sluice"));
    EXPECT_EQ(second.exit_code, 78);
    EXPECT_EQ(second.out + second.err, "");
}

TEST(Doctor, KeepsSingletonsFromRunning) {
    const JobFolder folder(1);

    const ProcessResult first = sluice(folder, {"run", "job.toml"}, 0, first_of_two);
    const ProcessResult second = sluice(folder, {"run", "job.toml"}, 0, second_of_two);

    EXPECT_EQ(first.exit_code, 78);
    EXPECT_THAT(first.err, HasSubstr("sluice: error[E-SLM-073]: launch: 2 tasks were started"));
    EXPECT_EQ(second.exit_code, 78);
    EXPECT_EQ(second.err, "");
    folder.expect_nothing_left();
}

TEST(Doctor, NamesVariablesThatAnEarlierMpirunLeftAsARunDoes) {
    const JobFolder folder(1);
    for (const char* const rank : {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_RANK=2"}) {
        const std::vector<std::string> left{"OMPI_COMM_WORLD_SIZE=4", rank};

        const ProcessResult doctor = sluice(folder, {"doctor"}, 0, left);
        const ProcessResult run = sluice(folder, {"run", "job.toml"}, 0, left);

        EXPECT_EQ(doctor.exit_code, 78);
        EXPECT_THAT(doctor.out, HasSubstr("E-SLM-073: OMPI_COMM_WORLD_SIZE=4 is set as by an mpirun of 4 tasks"));
        EXPECT_EQ(run.exit_code, 78);
        EXPECT_THAT(run.err, HasSubstr("error[E-SLM-073]: launch: OMPI_COMM_WORLD_SIZE=4 is set as by an mpirun of 4"));
        EXPECT_THAT(run.err, HasSubstr("hint: unset OMPI_COMM_WORLD_SIZE if an earlier mpirun left it"));
    }
    folder.expect_nothing_left();
}

TEST(Doctor, FindsTasksAndCpusThatABatchScriptDoesNotUse) {
    const JobFolder folder(1);

    const ProcessResult result = sluice(folder, {"doctor"}, 0,
                                        {"SLURM_JOB_ID=\x1b[2J", "SLURM_NTASKS=8", "SLURM_CPUS_PER_TASK=60000",
                                         "SLURM_JOB_NUM_NODES=4", "SLURM_PROCID=0"});

    EXPECT_EQ(result.exit_code, 0) << "warnings are no errors";
    EXPECT_THAT(result.out, HasSubstr("W-SLM-130: 1 rank, but the job has room for 8 tasks"));
    EXPECT_THAT(result.out, HasSubstr("W-HWL-131: rank 0 on "));
    EXPECT_THAT(result.out, HasSubstr("but the job asked for 60000 (SLURM_CPUS_PER_TASK); fix: the node has "));
    EXPECT_THAT(result.out, Not(HasSubstr("--cpus-per-task=60000")));
    EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST(Doctor, SaysWhichDeviceIsMissing) {
    const JobFolder folder(1);

    const ProcessResult result = sluice(folder, {"doctor", "job.toml", "--set", "run.device=cuda"});

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.out, HasSubstr("error    gpus     E-GPU-06"));
}

/// More than any machine has, and on most none at all.
TEST(RunWithoutItsGpus, SaysSoOnce) {
    const JobFolder job(3);

    const ProcessResult result =
        job.run_ranks(0, set({"run.device=cuda", "run.devices=1000", "pipeline.chunk_items=1"}));

    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("E-GPU-06[1-5]"));
    job.expect_nothing_left();
}

TEST(DoctorOfRanks, MeasuresTheWayBetweenThem) {
    const JobFolder folder(1);

    const ProcessResult result = sluice(folder, {"doctor", "job.toml", "--json"}, 3);

    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("tasks"), 3);
    ASSERT_EQ(json.at("ranks").size(), 3U);
    EXPECT_EQ(json.at("ranks")[2].at("rank"), 2);
    EXPECT_EQ(json.at("ranks")[2].at("transport").at("layer"), "ob1");
    EXPECT_NE(json.at("ranks")[2].at("clock_error_seconds"), 0);
    ASSERT_EQ(json.at("links").size(), 1U) << "one node: the way to its second rank";
    EXPECT_GT(json.at("links")[0].at("bytes_per_second"), 0);
    EXPECT_EQ(json.at("output").at("folder"), std::filesystem::canonical(folder.path()).native() + "/");
    folder.expect_nothing_left();
}

TEST(DoctorOfRanks, EndsAllWithTheCodeOfTheFirstError) {
    const JobFolder folder(1);

    const ProcessResult unwritable = sluice(folder, {"doctor", "job.toml", "--set", "output.path=none/labels.csv"}, 2);
    const ProcessResult no_job = sluice(folder, {"doctor", "none.toml"}, 2);

    EXPECT_EQ(unwritable.exit_code, 73);
    EXPECT_THAT(unwritable.out, HasSubstr("E-OUT-021: "));
    EXPECT_EQ(no_job.exit_code, 66);
    EXPECT_EQ(no_job.errors().size(), 1U) << no_job.err;
    EXPECT_EQ(no_job.out, "");
}

/// How often `part` stands in `text`.
std::size_t count_in(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

TEST(Preflight, WarnsARunInOneLineEachAndLetsItGoOn) {
    const JobFolder folder(3);

    const ProcessResult result =
        sluice(folder, {"run", "job.toml"}, 0, {"SLURM_JOB_ID=7", "SLURM_NTASKS=8", "SLURM_CPUS_PER_TASK=60000"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(count_in(result.err, "sluice: warning[W-SLM-130]: 1 rank, but the job has room for 8 tasks"), 1U);
    EXPECT_EQ(count_in(result.err, "sluice: warning[W-HWL-131]: rank 0 on "), 1U);
    EXPECT_EQ(result.besides_warnings(), "");
}

TEST(Preflight, EndsARunThatCannotWriteBeforeItReads) {
    const JobFolder folder(1);

    const ProcessResult result =
        sluice(folder, {"run", "job.toml", "--set", "output.path=none/labels.csv", "--set", "input.path=none.txt"});

    EXPECT_EQ(result.exit_code, 73) << "not 66: the input was not looked at";
    EXPECT_THAT(result.err, HasSubstr("E-OUT-021]: none/labels.csv: nothing can be written there: No such file"));
}

TEST(PreflightOfRanks, EndsARunWithoutItsGpusBeforeItReads) {
    const JobFolder folder(1);

    const ProcessResult result =
        sluice(folder, {"run", "job.toml", "--set", "run.device=cuda", "--set", "input.path=none.txt"}, 2);

    EXPECT_EQ(result.exit_code, 69) << "not 66: the input was not looked at";
    EXPECT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error[E-GPU-06"));
}

TEST(PreflightOfRanks, SpeaksOnceForAllOfThem) {
    const JobFolder folder(3);

    const ProcessResult result =
        sluice(folder, {"run", "job.toml"}, 3, {"SLURM_JOB_ID=7", "SLURM_CPUS_PER_TASK=60000"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(count_in(result.err, "W-HWL-131]: ranks 0-2 on "), 1U) << result.err;
    EXPECT_EQ(count_in(result.err, "W-HWL-131"), 1U);
    EXPECT_THAT(result.err, HasSubstr("unset the variable if another job left it"));
}

TEST(PreflightOfRanks, ComparesThemWithTheLayoutOfTheJob) {
    const JobFolder folder(3);

    const ProcessResult result = sluice(
        folder, {"run", "job.toml", "--set", "layout.ranks_per_node=4", "--set", "layout.cpus_per_rank=4096"}, 2);

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(count_in(result.err, "W-SLM-144]: ranks 0-1 on "), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr(": 2 ranks a node, but layout.ranks_per_node = 4; fix: "));
    EXPECT_THAT(result.err, HasSubstr("the job asked for 4096 (layout.cpus_per_rank)"));
}

TEST(PreflightOfRanks, SaysNothingOfALayoutWithoutALauncher) {
    const JobFolder folder(3);

    const ProcessResult result = sluice(folder, {"run", "job.toml", "--set", "layout.ranks_per_node=4", "--set",
                                                 "layout.gpus_per_node=8", "--set", "layout.cpus_per_rank=4096"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace sluice::test
