#include "scheduler/tail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scheduler/verdict.hpp"
#include "tests/scheduler/verdict_runs.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::device;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A device that computes without a break from 0 s to `done`.
struct Worker {
    nanoseconds done;
    std::uint64_t items;
};

/// Each worker is the only device of its rank; the run ends 100 ms after the last one.
RunReport run_with(const std::vector<Worker>& workers) {
    nanoseconds last{0};
    std::uint64_t items = 0;
    for (const Worker& worker : workers) {
        last = std::max(last, worker.done);
        items += worker.items;
    }
    std::vector<RankReport> ranks;
    for (const Worker& worker : workers) {
        const auto rank = static_cast<int>(ranks.size());
        InstanceTotals compute = device(Stage::compute, worker.done, worker.items);
        compute.steady = {.items = worker.items, .time = worker.done, .busy = worker.done};
        ranks.push_back(test::rank_of(rank, 0s, last, last + 100ms, {compute}));
        ranks.back().milestones.last_compute = {worker.done};
    }
    return test::run_of(ranks, items);
}

/// Two devices that are done after 1 s, and one that takes 1 s for each of the three chunks that it holds.
RunReport hoarding_run() {
    RunReport run = run_with({{1s, 950}, {1s, 950}, {3s, 150}});
    run.chunk_items = 50;
    return run;
}

TEST(Tail, IsWhatDevicesWaitForTheLastOneAndWhatThatCosts) {
    const std::optional<Tail> tail = find_tail(hoarding_run());

    ASSERT_TRUE(tail);
    EXPECT_EQ(tail->rank, 2);
    EXPECT_EQ(tail->name, "device 0 (host)");
    EXPECT_DOUBLE_EQ(tail->time, 2);
    EXPECT_EQ(tail->waiting, 2U);
    EXPECT_DOUBLE_EQ(tail->cost, 2 * 1900.0 / 1950);
    EXPECT_DOUBLE_EQ(3 - tail->cost, 2050.0 / 1950) << "all items at the rate of all devices";
    EXPECT_DOUBLE_EQ(tail->chunk, 1);
    EXPECT_TRUE(tail->is_in_the_way);
}

TEST(Tail, IsNotOfDevicesThatComputedNothingNorOfOne) {
    RunReport run = run_with({{3s, 300}, {1s, 0}});
    run.ranks[1].milestones.last_compute = {std::nullopt};

    EXPECT_FALSE(find_tail(run));
    EXPECT_FALSE(find_tail(run_with({{3s, 300}})));
    EXPECT_FALSE(find_tail(run_with({{3s, 300}, {3s, 100}}))) << "done at once";
}

TEST(Tail, IsNoShorterThanTheErrorOfTheClocks) {
    RunReport run = run_with({{1s, 100}, {1s + 5us, 100}});
    EXPECT_TRUE(find_tail(run));

    run.ranks[1].clock.error = 5us;

    EXPECT_FALSE(find_tail(run));
}

TEST(Tail, LeavesOutTheTimeInWhichADeviceThatWaitsWasSuspended) {
    RunReport run = run_with({{1s, 100}, {3s, 300}});
    run.ranks[0].suspended = {{500ms, 1500ms}};

    EXPECT_DOUBLE_EQ(find_tail(run)->time, 1.5);
}

TEST(Tail, OfAnotherDeviceOfTheSameRankIsOne) {
    RunReport run = run_with({{1s, 100}});
    run.ranks[0].breakdown.instances.push_back(device(Stage::upload, 1s, 100));
    run.ranks[0].breakdown.instances.push_back(device(Stage::compute, 2s, 200, 1));
    run.ranks[0].milestones.first_compute.emplace_back(0s);
    run.ranks[0].milestones.last_compute.emplace_back(2s);

    EXPECT_EQ(find_tail(run)->name, "device 1 (host)");
    EXPECT_FALSE(find_tail(run)->is_in_the_way) << "alone the other one would take 3 s";
}

TEST(Tail, BindsWhereItCostsMoreThanAFifth) {
    const Verdict verdict = judge(hoarding_run());

    EXPECT_EQ(verdict.bound, Bound::tail);
    EXPECT_EQ(verdict.line,
              "the tail binds: others waited up to 2.00 s of 3.10 s for device 0 (host) on rank 2, which costs 1.95 s");
    EXPECT_THAT(verdict.notes,
                Contains("NOTE: tail: at the end 2 of 3 devices waited, up to 2.00 s, for device 0 (host) on rank 2; "
                         "all done at once would save 1.95 s: a smaller pipeline.chunk_items, or a smaller "
                         "pipeline.depth, or a run without that device may help"));
    EXPECT_THAT(verdict.notes, Not(Contains(HasSubstr("more devices help"))));
    EXPECT_THAT(verdict.notes,
                Contains(AllOf(HasSubstr("straggler: device 0 (host) on rank 2"), Not(HasSubstr("that costs")))));
}

TEST(Tail, IsNamedBesideTheStageThatBindsWhereItCostsLess) {
    const Verdict verdict = judge(run_with({{10s, 1000}, {8s, 800}}));

    EXPECT_EQ(verdict.bound, Bound::stage);
    EXPECT_THAT(verdict.notes, ElementsAre(AllOf(HasSubstr("at the end 1 of 2 devices waited, up to 2.00 s"),
                                                 HasSubstr("would save 1.00 s: a smaller pipeline.chunk_items")),
                                           HasSubstr("more devices help")));
    EXPECT_FALSE(judge(run_with({{10s, 1000}, {9200ms, 920}})).tail) << "4 % of the run";
}

TEST(Tail, AdvisesNothingThatIsSetOrDoesNotHelp) {
    RunReport run = run_with({{1s, 1}, {2s, 1}});
    run.chunk_items = 1;

    EXPECT_THAT(judge(run).notes, Contains(testing::EndsWith("all done at once would save 667 ms")));

    run.chunk_items = 2;
    run.distribution = Distribution::fixed;
    EXPECT_THAT(judge(run).notes,
                Contains(testing::EndsWith("would save 667 ms: pipeline.distribution = \"pull\" may help")));
    EXPECT_NE(judge(run).bound, Bound::tail) << "the slowest device decides";
}

TEST(Tail, IsInTheReport) {
    const nlohmann::json report = report_json(hoarding_run(), {});

    EXPECT_EQ(report.at("verdict").at("bound"), "tail");
    const nlohmann::json& tail = report.at("verdict").at("tail");
    EXPECT_EQ(tail.at("rank"), 2);
    EXPECT_EQ(tail.at("name"), "device 0 (host)");
    EXPECT_EQ(tail.at("time"), 2.0);
    EXPECT_EQ(tail.at("waiting"), 2);
    EXPECT_EQ(report.at("ranks").at(2).at("milestones").at("last_compute"), nlohmann::json::array({3.0}));
    EXPECT_TRUE(report_json(run_with({{1s, 100}, {1s, 100}}), {}).at("verdict").at("tail").is_null());
}

}  // namespace
}  // namespace sluice
