#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t endless_items = 30'000;  // a minute of work, which nobody waits for
constexpr double computing_cpu_seconds = 1;    // more than a process needs for its start-up

ProcessResult end_by(int signal, const JobFolder& job) {
    const auto process = job.start_alone(set({"pipeline.chunk_items=8"}));
    EXPECT_TRUE(eventually([&] { return job.has_temporary(); }));
    const double before = cpu_seconds(process->pid());
    EXPECT_TRUE(eventually([&] { return cpu_seconds(process->pid()) - before > computing_cpu_seconds; }));
    process->send(signal);
    return process->wait();
}

class Stop : public testing::TestWithParam<int> {};

TEST_P(Stop, EndsAProcessWithItsOwnCodeAndOneMessageAndLeavesNothing) {
    const JobFolder job(endless_items);

    const ProcessResult result = end_by(GetParam(), job);

    EXPECT_EQ(result.exit_code, 75);
    EXPECT_EQ(result.out, "");
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("E-RUN-075"));
    job.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Signals, Stop, testing::Values(SIGTERM, SIGINT, SIGUSR1),
                         [](const auto& test) { return "Signal" + std::to_string(test.param); });

class Crash : public testing::TestWithParam<int> {};

TEST_P(Crash, OfAProcessNamesHostStageAndChunkAndLeavesNothing) {
    const JobFolder job(endless_items);

    const ProcessResult result = end_by(GetParam(), job);

    EXPECT_EQ(result.exit_code, 128 + GetParam());
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(),
                testing::ContainsRegex("E-RUN-001.: rank 0 on .*: died: SIG.* in compute of chunk [0-9]+"));
    job.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Signals, Crash, testing::Values(SIGSEGV, SIGABRT, SIGBUS, SIGFPE),
                         [](const auto& test) { return "Signal" + std::to_string(test.param); });

TEST(Kill, OfAProcessLeavesAHiddenTemporaryFileAtMost) {
    const JobFolder job(endless_items);

    const ProcessResult result = end_by(SIGKILL, job);

    EXPECT_EQ(result.exit_code, 128 + SIGKILL);
    const auto names = names_in(job.path());
    EXPECT_LE(std::ranges::count_if(names, [](const std::string& name) { return name.starts_with('.'); }), 1);
    EXPECT_EQ(std::ranges::count_if(names, [](const std::string& name) { return !name.starts_with('.'); }), 2);
}

TEST(Kill, OfAProcessKeepsTheOutputThatWasThereBefore) {
    const JobFolder job(endless_items);
    write_file(job.path() / "labels.csv", "from an earlier run\n");

    static_cast<void>(end_by(SIGKILL, job));

    EXPECT_EQ(contents(job.path() / "labels.csv"), "from an earlier run\n");
}

}  // namespace
}  // namespace sluice::test
