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
    constexpr double stretch = 0.5;  // CPU seconds
    const JobFolder job(held_texts(4, 0, "busy"));
    const auto launcher = job.start_ranks(ranks, set({"pipeline.chunk_items=2", "pipeline.depth=1"}));
    std::vector<pid_t> pids;
    ASSERT_TRUE(eventually([&] {
        pids = ranks_of(launcher->pid());
        return pids.size() == ranks && std::ranges::count_if(pids, [&](pid_t pid) { return job.is_held(pid); }) == 2;
    }));

    const std::vector<double> begin = cpu_of(pids);
    ASSERT_TRUE(eventually([&] {
        const std::vector<double> now = cpu_of(pids);
        return std::ranges::count_if(begin,
                                     [&, i = 0U](double before) mutable { return now[i++] - before > stretch; }) == 2;
    }));
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
