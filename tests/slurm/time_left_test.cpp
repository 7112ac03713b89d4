#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/time_left_in_slurm.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

TEST(TimeLeft, StopsRanksOfMpirunInTimeAndInGoodOrder) {
    const JobFolder job(std::vector<std::string>(400, "slow"));
    std::vector<std::string> words = set({"pipeline.chunk_items=1"});
    words.insert(words.end(), {"--time-left", "10s"});  // no more than the end is given

    const ProcessResult result = job.run_ranks(2, words);

    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_THAT(result.err, HasSubstr("notice[E-RUN-075]: stopped near its job's time limit after"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
}

TEST(TimeLeft, IsNotExceededByChunksInFlight) {
    const JobFolder job(held_texts(40, 0));
    const TimeLeftInSlurm slurm;
    const auto process = slurm.start(job, set({"fault.drain_timeout=86400s"}));
    ASSERT_TRUE(eventually([&] { return job.is_held(process->pid()); }));

    slurm.say("0:06");

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_THAT(result.err, HasSubstr("notice[E-RUN-075]: stopped near its job's time limit after"));
    EXPECT_THAT(result.err, HasSubstr("chunks in flight took longer than the time left\n"));
}

}  // namespace
}  // namespace sluice::test
