// Jobs that meet their time limit in a real Slurm, whose limits are whole minutes: on a node of their own, beside the
// other tests, with items that take a fifth of a second without computing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/slurm/box_job.hpp"
#include "tests/slurm/fake_programs.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// Of a minute, with more items than that is enough for.
std::unique_ptr<BoxJob> minute_job(const std::vector<std::string>& more) {
    std::vector<std::string> keys{"output.scores=false",    "pipeline.chunk_items=4", "slurm.time=1m",
                                  "slurm.exclusive=false",  "slurm.partition=aside",  "slurm.nodelist=\"n4\"",
                                  "layout.ranks_per_node=1"};
    keys.insert(keys.end(), more.begin(), more.end());
    return std::make_unique<BoxJob>(std::vector<std::string>(400, "slow"), keys);
}

/// The job has stopped in time and waits for its next attempt: what the first one said last.
RunStatus stopped_status(const BoxJob& job) {
    EXPECT_TRUE(eventually([&] { return job.status().end.has_value(); })) << job.log();
    job.wait_for("PENDING");
    return job.status();
}

void expect_to_go_on(const BoxJob& job, const RunStatus& first) {
    EXPECT_EQ(first.end.value_or(RunEnd{}).code, 75) << job.log();
    EXPECT_GT(first.chunks_done, 0U);
    EXPECT_TRUE(eventually([&] {
        const RunStatus now = job.status();
        return now.restarts == 1 && now.chunks_done > now.chunks_before;
    })) << job.log();
    EXPECT_EQ(job.status().chunks_before, first.chunks_done) << "a committed chunk is computed again, or one lost";
}

TEST(SlurmBoxTimeLimit, StopsJobsInTimeWhichGoOnUnlessTheyGetMore) {
    SKIP_WITHOUT_BOX();
    const auto extended = minute_job({"slurm.skip=[\"signal\"]"});
    extended->submit();
    const auto predicting = minute_job({"slurm.skip=[\"signal\"]"});
    predicting->submit();
    const FakePrograms silent(FakePrograms::Others::seen);  // for the second job, too: rank 0 cannot predict its end
    silent.add("squeue", "exit 1");
    const auto warned = minute_job({"slurm.resume.notice=15s"});
    warned->submit();
    predicting->wait_for_chunks(1);
    warned->wait_for_chunks(1);
    std::optional<double> limit;
    ASSERT_TRUE(eventually([&] {
        limit = extended->status().limit;
        return limit.has_value();
    })) << extended->log();
    slurm({"scontrol", "update", "jobid=" + extended->id(), "TimeLimit=+30"});

    const RunStatus at_signal = stopped_status(*warned);
    warned->start_requeued();
    const RunStatus at_limit = stopped_status(*predicting);
    predicting->start_requeued();

    EXPECT_THAT(warned->log(), HasSubstr("stopped by SIGUSR1 after"));
    EXPECT_THAT(predicting->log(), HasSubstr("notice[E-RUN-075]: stopped near its job's time limit after"));
    expect_to_go_on(*warned, at_signal);
    expect_to_go_on(*predicting, at_limit);
    EXPECT_TRUE(eventually([&] { return extended->status().limit.value_or(0) > *limit + 29 * 60; })) << extended->log();
    EXPECT_EQ(extended->status().state, RunState::running) << extended->log();
}

}  // namespace
}  // namespace sluice::test
