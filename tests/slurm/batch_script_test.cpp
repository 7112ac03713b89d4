#include "slurm/batch_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/slurm/slurm_jobs.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> options_of(const std::string& lines) {
    return sbatch_options(slurm_job(lines), some_paths);
}

TEST(BatchScript, OfTheSmallestJobAsksForOneWholeNode) {
    EXPECT_THAT(options_of(""),
                ElementsAre("--job-name=sluice", "--nodes=1", "--ntasks-per-node=1", "--exclusive", "--requeue",
                            "--open-mode=append", "--output=/data/labels.csv.sluice/logs/%j.log", "--comment=sluice",
                            StartsWith("--export=")));
}

TEST(BatchScript, PassesEveryKeyOn) {
    const std::vector<std::string> options = options_of(R"([layout]
gpus_per_node = 4
cpus_per_rank = 16
[slurm]
job_name = "a"
partition = "b,c"
account = "d"
qos = "e"
constraint = "h100&ib"
reservation = "f"
nodelist = "n[1-3],n7"
exclude = "n9"
mail_user = "me@example.org"
mail_type = "END,FAIL"
time = "1-02:03:04"
nodes = 8
exclusive = false
gpu_type = "h100"
mem = "480G"
comment = false
environment = ["UCX_TLS"]
extra = ["--switches=1@00:30:00"]
[slurm.resume]
mode = "manual"
notice = "90s"
)");

    EXPECT_THAT(std::vector<std::string>(options.begin(), options.end() - 2),
                ElementsAre("--job-name=a", "--partition=b,c", "--account=d", "--qos=e", "--constraint=h100&ib",
                            "--reservation=f", "--nodelist=n[1-3],n7", "--exclude=n9", "--mail-user=me@example.org",
                            "--mail-type=END,FAIL", "--nodes=8", "--ntasks-per-node=4", "--cpus-per-task=16",
                            "--gpus-per-node=h100:4", "--mem=480G", "--time=1-02:03:04", "--signal=B:USR1@90",
                            "--no-requeue", "--open-mode=append", "--output=/data/labels.csv.sluice/logs/%j.log"));
    EXPECT_THAT(options[options.size() - 2],
                StartsWith("--export=PATH,HOME,USER,LANG,LD_LIBRARY_PATH,UCX_TLS,SLUICE_"));
    EXPECT_EQ(options.back(), "--switches=1@00:30:00");
}

TEST(BatchScript, ExportsToAJobThatFollowsWhatItHasBeenGivenItself) {
    const std::vector<std::string> options = options_of("slurm.environment = [\"UCX_TLS\"]\n");
    const std::string list = options.back().substr(std::string("--export=").size());
    std::string names;  // of variables, with or without a value
    std::istringstream variables(list);
    for (std::string variable; std::getline(variables, variable, ',');) {
        names += (names.empty() ? "" : ":") + variable.substr(0, variable.find('='));
    }

    EXPECT_THAT(list, testing::EndsWith(",SLUICE_EXPORT=" + names));
    EXPECT_THAT(list, HasSubstr(",SLUICE_ATTEMPT=0,"));
}

std::vector<std::string> signals_of(const std::string& lines) {
    std::vector<std::string> options = options_of(lines);
    std::erase_if(options, [](const std::string& option) { return !option.starts_with("--signal"); });
    return options;
}

TEST(BatchScript, AsksForASignalThatCostsATenthOfTheTimeAtMost) {
    const auto of_time = [](const std::string& time) { return signals_of("slurm.time = \"" + time + "\"\n"); };

    EXPECT_THAT(of_time("3m"), ElementsAre());
    EXPECT_THAT(of_time("1199s"), ElementsAre());
    EXPECT_THAT(of_time("20m"), ElementsAre("--signal=B:USR1@60"));
    EXPECT_THAT(of_time("1h"), ElementsAre("--signal=B:USR1@180"));
    EXPECT_THAT(of_time("2d"), ElementsAre("--signal=B:USR1@240"));
    EXPECT_THAT(signals_of(""), ElementsAre()) << "nobody knows of what";
}

TEST(BatchScript, AsksForTheNoticeThatTheJobNames) {
    EXPECT_THAT(signals_of("slurm.time = \"3m\"\nslurm.resume.notice = \"10s\"\n"), ElementsAre("--signal=B:USR1@10"));
    EXPECT_THAT(signals_of("slurm.time = \"3m\"\nslurm.resume.notice = \"auto\"\n"), ElementsAre());
}

TEST(Notice, IsToldOfWhereItMayCostMoreThanAQuarterOfTheTime) {
    const auto problem = [](const std::string& lines) { return problem_with_notice(slurm_job(lines).slurm); };
    const std::string three_minutes = "slurm.time = \"3m\"\n";
    const std::string four_minutes = "slurm.resume.notice = \"240s\"\n";

    EXPECT_THAT(problem(three_minutes + four_minutes), HasSubstr("300 s before its limit of 180 s"));
    EXPECT_NE(problem("slurm.time = \"1199s\"\n" + four_minutes), "");
    EXPECT_EQ(problem("slurm.time = \"20m\"\n" + four_minutes), "");
    EXPECT_EQ(problem(four_minutes), "") << "the partition's limit is not known here";
    EXPECT_EQ(problem(three_minutes), "");
    EXPECT_EQ(problem(three_minutes + four_minutes + "slurm.skip = [\"signal\"]\n"), "");
}

TEST(BatchScript, AsksForGpusAsTheSiteWantsIt) {
    const std::string four = "[layout]\ngpus_per_node = 4\n[slurm]\n";

    EXPECT_THAT(options_of(four), Contains("--gpus-per-node=4"));
    EXPECT_THAT(options_of(four), Contains("--ntasks-per-node=4"));
    EXPECT_THAT(options_of(four + "gpu_request = \"gres\"\ngpu_type = \"a\""), Contains("--gres=gpu:a:4"));
    EXPECT_THAT(options_of(four + "gpu_request = \"none\""), Not(Contains(HasSubstr("gpu"))));
    EXPECT_THAT(options_of("layout.gpus_per_node = 4\nlayout.ranks_per_node = 1\n"), Contains("--ntasks-per-node=1"));
}

TEST(BatchScript, LeavesOutWhatASiteRefuses) {
    const auto options = options_of("[slurm]\nskip = [\"exclusive\", \"comment\", \"signal\"]\n");

    EXPECT_THAT(options, Not(Contains(StartsWith("--exclusive"))));
    EXPECT_THAT(options, Not(Contains(StartsWith("--comment"))));
    EXPECT_THAT(options, Not(Contains(StartsWith("--signal"))));
}

TEST(BatchScript, DiffersFromJobToJobInItsOptionsAlone) {
    const SplitScript small = split(batch_script(slurm_job(), some_paths));
    const SplitScript large = split(batch_script(
        slurm_job("[slurm]\nnodes = 64\nlauncher = \"mpirun\"\n[slurm.resume]\nmode = \"dependency\"\n"), some_paths));

    EXPECT_EQ(small.body, batch_text());
    EXPECT_EQ(large.body, batch_text());
    EXPECT_NE(small.options, large.options);
    EXPECT_TRUE(batch_text().starts_with("#!/bin/bash\n"));
}

TEST(BatchScript, OfAJobOnGpusThatAsksForNoneIsRefused) {
    const auto made = [](const std::string& lines) { return batch_script(slurm_job(lines), some_paths); };

    const Error error = test::error_of([&] { return made("run.device = \"cuda\"\n"); });

    EXPECT_EQ(error.text().id, "E-CFG-105");
    EXPECT_FALSE(made("run.device = \"cuda\"\nslurm.gpu_request = \"none\"\n").empty());
    EXPECT_FALSE(made("run.device = \"cuda\"\nlayout.gpus_per_node = 1\n").empty());
}

TEST(ScriptPaths, LieInTheRunsFolder) {
    EXPECT_EQ(script_paths(slurm_job()).plan(), "/data/labels.csv.sluice/plan.toml");
    EXPECT_EQ(script_paths(slurm_job("", {{"output.path", "/data/./x/../a.csv"}})).script(),
              "/data/a.csv.sluice/script.sh");
}

TEST(ScriptPaths, ThatSlurmCannotHoldAreRefused) {
    for (const char* path : {"a b.csv", "a,b.csv", "%j.csv", "$(x).csv", "\xc3\xa9.csv", "x'.csv", "a=b.csv"}) {
        const Error error = test::error_of([&] { return script_paths(slurm_job("", {{"output.path", path}})); });

        EXPECT_EQ(error.text().id, "E-SLM-112") << path;
        EXPECT_EQ(error.code(), ExitCode::configuration);
    }
}

}  // namespace
}  // namespace sluice
