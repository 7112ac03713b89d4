// Jobs in a real Slurm: tools/slurm-box, four nodes on this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "slurm/child.hpp"
#include "tests/slurm/box_job.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> four_nodes{"slurm.nodes=4", "layout.ranks_per_node=2", "pipeline.chunk_items=4",
                                          "slurm.time=1h"};

const std::vector<std::string> two_nodes{"slurm.nodes=2", "layout.ranks_per_node=2", "pipeline.chunk_items=4"};

TEST(SlurmBox, GivesOnFourNodesWhatOneProcessGives) {
    SKIP_WITHOUT_BOX();
    BoxJob job(held_items(), four_nodes);
    job.submit();

    job.wait_for_chunks(1);
    const nlohmann::json running = nlohmann::json::parse(job.sluice({"status", "job.toml", "--json"}).out);
    RunStatus before = job.status();
    EXPECT_TRUE(eventually([&] {  // some two statuses in a row: a machine may be too busy for every two
        const RunStatus now = job.status();
        const double gap = now.updated - std::exchange(before, now).updated;
        return gap > 0 && gap <= 2;
    }));
    job.release();
    job.wait_for("COMPLETED");

    EXPECT_EQ(running["status"]["ranks"].size(), 8U);
    EXPECT_EQ(running["status"]["ranks"][7]["host"], "n3");
    EXPECT_EQ(running["status"]["job"], job.id());
    EXPECT_EQ(job.status().state, RunState::complete);
    EXPECT_EQ(job.status().items_done, 400U);
    EXPECT_EQ(job.output(), job.expected_output());
    EXPECT_THAT(job.log(), HasSubstr("400 items in "));
    EXPECT_THAT(job.sluice({"status", job.id()}).out, HasSubstr("complete, exit code 0"));
}

TEST(SlurmBox, RunsUnderMpirunToo) {
    SKIP_WITHOUT_BOX();
    BoxJob job(100, with(four_nodes, {"slurm.launcher=mpirun", "slurm.nodes=2"}));
    job.submit();

    job.wait_for("COMPLETED");

    EXPECT_EQ(job.status().ranks.size(), 4U);
    EXPECT_EQ(job.output(), job.expected_output());
}

TEST(SlurmBox, GivesEachNodeTheGpusThatTheJobAsksFor) {
    SKIP_WITHOUT_BOX();
    struct Case {
        const char* gpus;
        const char* tres;
        std::size_t ranks;
    };
    std::vector<std::unique_ptr<BoxJob>> jobs;
    const std::vector<Case> cases{{"0", "", 1}, {"1", "gres:gpu:1", 1}, {"2", "gres:gpu:2", 2}, {"4", "gres:gpu:4", 4}};
    for (const Case& one : cases) {  // each on a node of its own
        jobs.push_back(std::make_unique<BoxJob>(
            10, std::vector<std::string>{std::string("layout.gpus_per_node=") + one.gpus, "slurm.time=1h"}));
        jobs.back()->submit();
    }

    for (std::size_t i = 0; i < cases.size(); ++i) {
        jobs[i]->wait_for("COMPLETED");
        EXPECT_EQ(jobs[i]->field("TresPerNode"), cases[i].tres);
        EXPECT_EQ(jobs[i]->status().ranks.size(), cases[i].ranks);
    }
}

TEST(SlurmBox, QueuesADrainedJobAgainWhichGoesOn) {
    SKIP_WITHOUT_BOX();
    BoxJob job(held_items(), with(two_nodes, {"slurm.time=1h"}));
    const auto waiting = job.submit_waiting();
    job.wait_for_chunks(3);

    job.announce_the_end_of_time();
    job.wait_for("PENDING");
    const RunStatus first = job.status();
    job.start_requeued();
    job.wait_for("COMPLETED");

    ASSERT_TRUE(first.end);
    EXPECT_EQ(first.end->code, 75);
    EXPECT_GE(first.chunks_done, 3U);
    EXPECT_EQ(job.status().restarts, 1U);
    EXPECT_EQ(job.status().chunks_before, first.chunks_done) << "a committed chunk was computed again, or one lost";
    EXPECT_EQ(waiting->wait().exit_code, 0);
    EXPECT_EQ(job.output(), job.expected_output());
}

TEST(SlurmBox, CallsAJobThatIsStoppedBeforeItsFirstChunkStopped) {
    SKIP_WITHOUT_BOX();
    for (const char* signalled : {"--batch", "--quiet"}) {  // the script, which tells the ranks, or all of them
        BoxJob job(slow_items(),
                   with(two_nodes, {"slurm.resume.mode=manual", "slurm.time=1h", "pipeline.chunk_items=1"}));
        job.submit();
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(job.run_folder() / "status.json"); }));

        slurm({"scancel", "--signal=USR1", signalled, job.id()});
        job.wait_for("FAILED");

        EXPECT_EQ(job.field("ExitCode"), "75:0") << job.log();
        const RunStatus last = job.status();
        EXPECT_EQ(last.end.value_or(RunEnd{}).code, 75) << job.log();
    }
}

TEST(SlurmBox, RefusesTasksThatDoNotKnowOfEachOther) {
    SKIP_WITHOUT_BOX();
    const BoxJob job(10, {});

    const auto alone = run_child({"srun", "--mpi=none", "--nodes=1", "--ntasks=2", "--chdir=" + job.path().native(),
                                  SLUICE_PROGRAM, "run", "job.toml"},
                                 longest_run);

    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->exit_code, 78) << alone->err;
    EXPECT_THAT(alone->err, HasSubstr("E-SLM-073"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
}

TEST(SlurmBox, ComputesOnNodesThatDoNotSeeTheOutput) {
    SKIP_WITHOUT_BOX();
    const BoxJob job(100, {});
    const std::string output = "/dev/shm/" + job.path().filename().native() + ".csv";  // each node has its own

    const auto run = run_child({"env", "SLURM_PMIX_FENCE=ring", "srun", "--mpi=pmix", "--nodelist=n0,n1", "--ntasks=2",
                                "--chdir=" + job.path().native(), SLUICE_PROGRAM, "run", "job.toml", "--quiet", "--set",
                                "output.path=" + output, "--set", "output.report=report.json"},
                               longest_run);
    const std::string written = slurm({"srun", "--nodelist=n0", "cat", output});
    static_cast<void>(slurm({"srun", "--nodelist=n0", "rm", "-r", output, output + ".sluice"}));

    ASSERT_TRUE(run);
    EXPECT_EQ(run->exit_code, 0) << run->err;
    EXPECT_THAT(run->err, HasSubstr("[W-OUT-027]: rank 1 on n1: does not see " + output + ".sluice of rank 0"));
    EXPECT_EQ(written, job.expected_output());
}

TEST(SlurmBox, DoesNotQueueAJobAgainThatItsUserDrains) {
    SKIP_WITHOUT_BOX();
    BoxJob job(slow_items(), with(four_nodes, {"pipeline.chunk_items=1"}));
    job.submit();
    job.wait_for_chunks(1);

    EXPECT_EQ(job.sluice({"drain", "job.toml"}).exit_code, 0);
    job.wait_for("FAILED");

    EXPECT_EQ(job.field("ExitCode"), "75:0");
    EXPECT_EQ(job.field("Restarts"), "0");
    EXPECT_EQ(job.status().state, RunState::stopped);
    EXPECT_THAT(job.log(), HasSubstr("stopped by a drain request after"));
}

TEST(SlurmBox, RunsNoneOfAJobsTextInAShell) {
    SKIP_WITHOUT_BOX();
    const std::string hostile = "$(touch MARK);`touch MARK`'\";touch MARK;#.txt";
    BoxJob job(10, {"slurm.time=1h", "input.path='''" + hostile + "'''", "output.report='''r " + hostile + "'''"});
    std::filesystem::rename(job.path() / "articles.txt", job.path() / hostile);
    job.submit({"--job-name=$(touch MARK)`touch MARK`;touch MARK", "--wckey=a\\b 'c\" $(touch MARK)"});

    job.wait_for("COMPLETED");

    EXPECT_TRUE(std::filesystem::exists(job.path() / ("r " + hostile)));
    for (const auto& folder : {job.path(), job.run_folder(), job.run_folder() / "logs"}) {
        for (const std::string& name : names_in(folder)) {
            EXPECT_NE(name, "MARK") << folder;
        }
    }
}

TEST(SlurmBox, RefusesASecondJobForTheSameOutput) {
    SKIP_WITHOUT_BOX();
    BoxJob job(10, {"slurm.time=1h"});
    job.submit({"--begin=now+1hour"});

    const ProcessResult second = job.sluice({"submit", "job.toml"});
    const ProcessResult cancelled = job.sluice({"cancel", "labels.csv"});

    EXPECT_EQ(second.exit_code, 79) << second.err;
    EXPECT_THAT(second.err, HasSubstr("E-OUT-079"));
    EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
    job.wait_for("CANCELLED");
}

TEST(SlurmBox, SaysWhatSbatchRefuses) {
    SKIP_WITHOUT_BOX();
    const BoxJob job(10, {});

    const ProcessResult refused = job.sluice({"submit", "job.toml", "--set", "slurm.partition=none"});
    const ProcessResult possible = job.sluice({"submit", "job.toml", "--test-only"});

    EXPECT_EQ(refused.exit_code, 69);
    EXPECT_THAT(refused.err, HasSubstr("E-SLM-075"));
    EXPECT_THAT(refused.err, HasSubstr("invalid partition"));
    EXPECT_EQ(possible.exit_code, 0) << possible.err;
    EXPECT_THAT(possible.out, HasSubstr("to start at"));
    for (const std::string& name : {std::string("-"), std::string("--wrap"), std::string(".."), std::string("0"),
                                    std::string(64, 'x'), std::string("a.b_c-D")}) {
        EXPECT_EQ(
            job.sluice({"submit", "job.toml", "--test-only", "--set", "slurm.job_name=\"" + name + "\""}).exit_code, 0)
            << name;
    }
}

}  // namespace
}  // namespace sluice::test
