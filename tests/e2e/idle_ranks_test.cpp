#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

std::vector<double> cpu_of(const std::vector<pid_t>& pids) {
    std::vector<double> seconds;
    for (const pid_t pid : pids) {
        seconds.push_back(cpu_seconds(pid));
    }
    return seconds;
}

/// Two chunks for five ranks: three of them have nothing to do. A rank that polls without a pause would use as much CPU
/// as one that computes, so a tenth tells them apart on any machine.
TEST(IdleRanks, LeaveTheCoresToThoseThatCompute) {
    constexpr std::size_t ranks = 5;
    constexpr double start_up = 1;  // CPU seconds, more than it takes
    constexpr double stretch = 1;
    const JobFolder job(12'000);
    const auto launcher = job.start_ranks(ranks, set({"pipeline.chunk_items=6000", "pipeline.depth=1"}));
    std::vector<pid_t> pids;
    ASSERT_TRUE(eventually([&] { return job.has_begun(); }));
    ASSERT_TRUE(eventually([&] { return (pids = ranks_of(launcher->pid())).size() == ranks; }));
    const auto two_computed = [&](const std::vector<double>& since, double seconds) {
        std::vector<double> now = cpu_of(pids);
        return std::ranges::count_if(since,
                                     [&, i = 0U](double before) mutable { return now[i++] - before > seconds; }) >= 2;
    };
    const std::vector<double> first = cpu_of(pids);
    ASSERT_TRUE(eventually([&] { return two_computed(first, start_up); }));

    const std::vector<double> begin = cpu_of(pids);
    ASSERT_TRUE(eventually([&] { return two_computed(begin, stretch); }));
    std::vector<double> used = cpu_of(pids);
    for (std::size_t i = 0; i < ranks; ++i) {
        used[i] -= begin[i];
    }

    std::ranges::sort(used);
    EXPECT_LT(used[2], stretch / 10) << "the busiest of the three idle ranks, in CPU seconds";
    launcher->send(SIGTERM);
    static_cast<void>(launcher->wait());
}

}  // namespace
}  // namespace sluice::test
