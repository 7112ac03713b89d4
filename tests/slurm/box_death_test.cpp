// Jobs in a real Slurm, tools/slurm-box, whose ranks or nodes die, hang, or have to continue in another job: on nodes
// of their own, beside the other jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <utility>

#include "tests/slurm/box_job.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

/// The processes of a running job's ranks.
std::vector<pid_t> ranks_in(const BoxJob& job) {
    std::vector<pid_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            const std::string words = contents(entry.path() / "cmdline");
            if (words.starts_with(SLUICE_PROGRAM) &&
                words.find((job.run_folder() / "plan.toml").native()) != std::string::npos) {
                pids.push_back(std::stoi(name));
            }
        }
    }
    return pids;
}

/// The process of a running job's rank `number`; 0 where there is none.
pid_t rank_in(const BoxJob& job, int number) {
    const std::string variable = std::string("\0SLURM_PROCID=", 14) + std::to_string(number) + '\0';
    for (const pid_t pid : ranks_in(job)) {
        const std::string path = "/proc/" + std::to_string(pid) + "/environ";
        if (('\0' + contents(path)).find(variable) != std::string::npos) {
            return pid;
        }
    }
    return 0;
}

const std::vector<std::string> two_on_each_node{"slurm.partition=deaths", "layout.ranks_per_node=2",
                                                "pipeline.chunk_items=4", "slurm.time=1h"};

const std::vector<std::string> alone_on_two_nodes{"slurm.partition=deaths", "slurm.nodes=2", "layout.ranks_per_node=1",
                                                  "pipeline.chunk_items=1", "slurm.time=1h"};

TEST(SlurmBoxDeath, EndsAJobWhoseRankWasKilled) {
    SKIP_WITHOUT_BOX();
    BoxJob job(held_items(), with(two_on_each_node, {"slurm.nodes=4"}));
    const auto waiting = job.submit_waiting();
    job.wait_for_chunks(1);
    const std::vector<pid_t> ranks = ranks_in(job);
    ASSERT_EQ(ranks.size(), 8U);

    ASSERT_EQ(::kill(ranks.back(), SIGKILL), 0);
    job.release();  // what the others have in flight

    job.wait_for("FAILED");
    EXPECT_EQ(job.field("ExitCode"), "70:0");
    EXPECT_EQ(waiting->wait().exit_code, 70);
    EXPECT_EQ(job.field("Restarts"), "0");
    EXPECT_NE(job.status().state, RunState::complete);
}

TEST(SlurmBoxDeath, EndsAJobWhoseRank0DoesNotRun) {
    SKIP_WITHOUT_BOX();
    BoxJob job(slow_items(), with(alone_on_two_nodes, {"fault.hang_timeout=2s"}));
    job.submit();
    job.wait_for_chunks(1);
    const pid_t root = rank_in(job, 0);
    ASSERT_NE(root, 0);

    ASSERT_EQ(::kill(root, SIGSTOP), 0);
    job.wait_for("FAILED");

    EXPECT_EQ(job.field("ExitCode"), "76:0");
    EXPECT_THAT(job.log(), ContainsRegex("E-RUN-076.: rank 0 on n[5-8]: hangs: has sent no heartbeat"));
    EXPECT_THAT(job.log(), ContainsRegex("\nrank 1 on n[5-8], process"));
    EXPECT_THAT(job.log(), Not(ContainsRegex("E-RUN-0...: rank 1")));  // says rank 0, which srun wakes up
}

TEST(SlurmBoxDeath, EndsAJobWhoseRank0DiesWhileItDrains) {
    SKIP_WITHOUT_BOX();
    BoxJob job(slow_items(), with(alone_on_two_nodes, {"slurm.resume.mode=manual", "fault.drain_timeout=24s"}));
    job.submit();
    job.wait_for_chunks(1);
    const pid_t root = rank_in(job, 0);
    const pid_t other = rank_in(job, 1);
    ASSERT_NE(root, 0);
    ASSERT_NE(other, 0);

    ASSERT_EQ(::kill(other, SIGSTOP), 0);  // or the drain is done before
    ASSERT_EQ(::kill(root, SIGUSR1), 0);
    EXPECT_TRUE(eventually([&] { return job.log().find("finishing the chunks") != std::string::npos; })) << job.log();
    ASSERT_EQ(::kill(root, SIGKILL), 0);
    ASSERT_EQ(::kill(other, SIGCONT), 0);
    job.wait_for("FAILED");

    EXPECT_EQ(job.field("ExitCode"), "70:0");
    // If Open MPI writes to rank 0 before it reads what came from it, it never returns, and Slurm kills the rank.
    EXPECT_THAT(job.log(), AnyOf(ContainsRegex("E-RUN-001.: rank 0 on n[5-8]: died, or cannot be reached"),
                                 HasSubstr("writev failed: Broken pipe")));
}

/// A node without slurmd, from then to the end of the test.
class LostNode {
public:
    explicit LostNode(std::string name) : name_(std::move(name)) {
        slurm({SLUICE_SLURM_BOX, "kill-node", name_, slurm_conf().parent_path().native()});
        slurm({"scontrol", "update", "nodename=" + name_, "state=down", "reason=test"});  // Slurm itself waits 12 s
        // A registration that was on its way when slurmd died would bring a node that is only down back.
        slurm({"scontrol", "update", "nodename=" + name_, "state=drain", "reason=test"});
    }
    ~LostNode() {
        slurm({"scontrol", "update", "nodename=" + name_, "state=undrain"});
        slurm({SLUICE_SLURM_BOX, "start-node", name_, slurm_conf().parent_path().native()});
    }
    LostNode(const LostNode&) = delete;
    LostNode& operator=(const LostNode&) = delete;

private:
    std::string name_;
};

TEST(SlurmBoxDeath, GoesOnAfterTheLossOfANode) {
    SKIP_WITHOUT_BOX();
    // Rank 0 stays on n5: elsewhere the second attempt would take the first for alive for a minute.
    BoxJob job(held_items(), with(two_on_each_node, {"slurm.nodes=2", "slurm.nodelist=n5"}));
    const auto waiting = job.submit_waiting();
    job.wait_for_chunks(3);
    const std::string nodes = job.field("NodeList");
    ASSERT_THAT(nodes, MatchesRegex("n\\[5[-,][6-8]\\]"));

    const LostNode node("n" + nodes.substr(nodes.size() - 2, 1));
    job.wait_for_drain();
    job.release();
    job.wait_for("PENDING");
    const RunStatus first = job.status();
    const ProcessResult said = job.sluice({"status", "job.toml"});
    job.start_requeued();
    job.wait_for("COMPLETED");

    EXPECT_GE(first.chunks_done, 3U);
    EXPECT_THAT(said.out, HasSubstr("job " + job.id() + " PENDING"));
    EXPECT_NE(job.field("NodeList"), nodes);
    EXPECT_EQ(job.status().restarts, 1U);
    EXPECT_GE(job.status().chunks_before, first.chunks_done);
    EXPECT_EQ(waiting->wait().exit_code, 0);
    EXPECT_EQ(job.output(), job.expected_output());
}

TEST(SlurmBoxDeath, GoesOnInAJobOfItsOwnWhereRequeueIsForbidden) {
    SKIP_WITHOUT_BOX();
    BoxJob job(held_items(), with(two_on_each_node, {"slurm.resume.mode=dependency"}));
    const auto waiting = job.submit_waiting();
    const std::string first = job.id();
    job.wait_for_chunks(3);

    job.announce_the_end_of_time();
    job.wait_for("FAILED");
    job.turn_to_follower();
    const ProcessResult following = job.sluice({"status", "job.toml"});

    EXPECT_EQ(waiting->wait().exit_code, 0);
    EXPECT_NE(job.id(), first);
    EXPECT_THAT(following.out, HasSubstr("which continues after " + first + "\n"));
    EXPECT_EQ(job.status().job, job.id());
    EXPECT_EQ(job.status().attempt, 2U);
    EXPECT_EQ(job.status().most_attempts, 4U);
    EXPECT_GE(job.status().chunks_before, 3U);
    EXPECT_EQ(job.output(), job.expected_output());
}

}  // namespace
}  // namespace sluice::test
