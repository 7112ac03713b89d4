#include "scheduler/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/scheduler/verdict_runs.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::busy_rank;
using test::device;
using test::rank_of;
using test::run_of;
using test::thread;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Verdict, NamesTheStageOfLeastCapacity) {
    std::vector<RankReport> ranks{
        rank_of(0, 500ms, 9500ms, 10s,
                {thread(Stage::read, "reader 0", 1s, 1000), device(Stage::upload, 500ms, 1000),
                 device(Stage::compute, 9s, 1000), device(Stage::download, 250ms, 1000)})};
    ranks[0].breakdown.written = {.items = 800, .time = 8s};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_EQ(verdict.bound, Bound::stage);
    EXPECT_EQ(verdict.binding, Stage::compute);
    EXPECT_EQ(verdict.rank, std::nullopt);
    EXPECT_DOUBLE_EQ(verdict.achieved, 100);
    EXPECT_DOUBLE_EQ(verdict.steady, 100);
    EXPECT_DOUBLE_EQ(verdict.achievable, 1000.0 / 9);
    EXPECT_DOUBLE_EQ(verdict.share, 0.9);
    EXPECT_DOUBLE_EQ(verdict.startup, 0.5);
    EXPECT_DOUBLE_EQ(verdict.end, 0.5);
    EXPECT_EQ(verdict.line, "compute binds: 100 of 111 items/s (90.0 %)");
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("more devices help")));
}

TEST(Verdict, LeavesOutTheTimeInWhichTheProcessWasSuspended) {
    std::vector<RankReport> ranks{rank_of(0, 1s, 3600s + 9s, 3600s + 10s, {device(Stage::compute, 8s, 1000)})};
    ranks[0].suspended = {{500ms, 1500ms}, {2s, 3600s + 1s}};
    ranks[0].breakdown.wall.suspended = 3600s;

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_DOUBLE_EQ(verdict.suspended, 3600);
    EXPECT_DOUBLE_EQ(verdict.startup, 0.5);
    EXPECT_DOUBLE_EQ(verdict.end, 1);
    EXPECT_DOUBLE_EQ(verdict.achieved, 1000.0 / 3610) << "which the run's time includes";
    EXPECT_EQ(verdict.line, "compute binds: 100 of 125 items/s (80.0 %)");
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("rank 0 was suspended for 3600 s (SIGSTOP, scontrol suspend)")));

    ranks.push_back(rank_of(1, 0s, 10s, 10s, {}));
    ranks.push_back(ranks.front());
    EXPECT_THAT(judge(run_of(ranks, 1000)).notes, Contains(HasSubstr("2 of 3 ranks were suspended for up to 3600 s")));
}

TEST(Verdict, TakesTheStagesOfAThreadTogetherAndNamesTheLongest) {
    for (const auto& [first, second, name] :
         {std::tuple{Stage::read, Stage::parse, "reader 0"}, std::tuple{Stage::write, Stage::commit, "writer"}}) {
        std::vector<RankReport> ranks{
            rank_of(0, 0s, 10s, 10s,
                    {thread(first, name, 3s, 1000), thread(second, name, 6s, 1000), device(Stage::compute, 7s, 1000)})};
        ranks[0].breakdown.written = {.items = 1000, .time = 10s};

        const Verdict verdict = judge(run_of(ranks, 1000));

        EXPECT_EQ(verdict.binding, second) << "alone it has less to do than compute";
        EXPECT_DOUBLE_EQ(verdict.achievable, 1000.0 / 9);
    }
}

TEST(Verdict, AddsUpTheCopiesOfAllDrivers) {
    std::vector<RankReport> ranks{rank_of(
        0, 0s, 10s, 10s,
        {device(Stage::scatter, 9s, 500, 0), device(Stage::scatter, 10s, 500, 1), device(Stage::compute, 5s, 500, 0),
         device(Stage::compute, 5s, 500, 1), thread(Stage::gather, "comm", 8s, 1000)})};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_EQ(verdict.binding, Stage::scatter);
    EXPECT_DOUBLE_EQ(verdict.achievable, 500 / 9.0 + 500 / 10.0);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("more devices help: each one's driver copies its own items")));
}

TEST(Verdict, TakesTheSteadyRateOfDriversThatCopyFromTheirDevices) {
    std::vector<RankReport> ranks;
    for (const int rank : {0, 1}) {
        InstanceTotals compute = device(Stage::compute, 5s, 1000);
        compute.steady = {.items = 800, .time = 8s, .busy = 4s};
        ranks.push_back(rank_of(rank, 0s, 20s, 20s, {device(Stage::scatter, 9500ms, 1000), compute}));
    }
    ranks[0].breakdown.written = {.items = 2000, .time = 20s};  // one began when the other was done

    const Verdict verdict = judge(run_of(ranks, 2000));

    EXPECT_EQ(verdict.binding, Stage::scatter);
    EXPECT_DOUBLE_EQ(verdict.steady, 200);
    EXPECT_EQ(verdict.bound, Bound::stage);
}

TEST(Verdict, AdvisesCopiersThatBindWhereOthersGetMessages) {
    const std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s,
                                                {device(Stage::scatter, 9s, 250), device(Stage::compute, 2s, 250),
                                                 thread(Stage::scatter, "send", 1s, 750)}),
                                        rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 6s, 750)})};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_EQ(verdict.binding, Stage::scatter);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("more devices help: each one's driver copies its own items")));
}

TEST(Verdict, TellsRanksThatCopyFromThoseThatGetMessages) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s,
                                          {device(Stage::scatter, 1s, 250), device(Stage::compute, 2s, 250),
                                           thread(Stage::scatter, "send", 9s, 750)}),
                                  rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 6s, 750)})};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_EQ(verdict.binding, Stage::scatter) << "what copies leave to spare does not help messages";
    EXPECT_DOUBLE_EQ(verdict.achievable, 1000 * (750 / 9.0) / 750);
    EXPECT_DOUBLE_EQ(*verdict.capacity[index_of(Stage::scatter)], verdict.achievable);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("a faster network out of rank 0's node helps")));
}

/// As GPUs do that take all that two ranks' shared memory passes on: messages are always on their way.
TEST(Verdict, NamesDevicesThatNeverWaitBeforeALinkWhoseMessagesDo) {
    const auto run = [](nanoseconds busy_in_stretch) {
        std::vector<RankReport> ranks;
        for (const int rank : {0, 1}) {
            InstanceTotals compute = device(Stage::compute, 9s, 900);
            compute.steady = {.items = 700, .time = 7s, .busy = busy_in_stretch};
            ranks.push_back(rank_of(rank, 0s, 10s, 10s, {compute}));
        }
        ranks[0].breakdown.instances.push_back(thread(Stage::scatter, "to rank 1", 9500ms, 900));
        return run_of(ranks, 1800);
    };

    const Verdict never_waiting = judge(run(6900ms));

    EXPECT_EQ(never_waiting.binding, Stage::compute);
    EXPECT_DOUBLE_EQ(never_waiting.steady, 200);
    EXPECT_DOUBLE_EQ(never_waiting.achievable, 2 * 700 / 6.9);
    EXPECT_THAT(never_waiting.notes, ElementsAre(HasSubstr("more devices help")));

    EXPECT_EQ(judge(run(6s)).binding, Stage::scatter) << "they wait a seventh of their time";
}

TEST(Verdict, AddsUpTheDevicesOfAllRanks) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 8s, 4000), device(Stage::compute, 8s, 2000, 1)}),
        rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 9s, 1800)}),
    };

    EXPECT_DOUBLE_EQ(judge(run_of(ranks, 7800)).achievable, 500 + 250 + 200);
}

TEST(Verdict, LetsTheSlowestDeviceDecideWhereChunksAreDealtOut) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 8s, 8s, {device(Stage::compute, 2s, 500)}),
                                  rank_of(1, 0s, 8s, 8s, {device(Stage::compute, 8s, 500)}),
                                  rank_of(2, 0s, 8s, 8s, {device(Stage::compute, 2s, 500)})};
    ranks[0].breakdown.written = {.items = 1500, .time = 8s};
    RunReport run = run_of(ranks, 1500);
    run.distribution = Distribution::fixed;

    const Verdict verdict = judge(run);

    EXPECT_DOUBLE_EQ(verdict.achievable, 1500.0 / 8);
    EXPECT_EQ(verdict.bound, Bound::stage);
    EXPECT_EQ(verdict.rank, 1);
    EXPECT_THAT(verdict.line, HasSubstr("compute on rank 1 binds"));
    ASSERT_THAT(verdict.stragglers, SizeIs(1));
    EXPECT_DOUBLE_EQ(verdict.stragglers[0].cost, 6);
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("\"pull\"")));
}

TEST(Verdict, NamesAStragglerUnderPullAndWhatItCosts) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 10s, 1000)}),
                                  rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 10s, 250)}),
                                  rank_of(2, 0s, 10s, 10s, {device(Stage::compute, 10s, 950)})};
    ranks[0].breakdown.written = {.items = 2200, .time = 10s};

    const Verdict verdict = judge(run_of(ranks, 2200));

    ASSERT_THAT(verdict.stragglers, SizeIs(1));
    EXPECT_EQ(verdict.stragglers[0].rank, 1);
    EXPECT_DOUBLE_EQ(verdict.stragglers[0].rate, 25);
    EXPECT_DOUBLE_EQ(verdict.stragglers[0].usual, 95);
    EXPECT_NEAR(verdict.stragglers[0].cost, 10 * (1 - 220.0 / 290), 1e-9);
    EXPECT_EQ(verdict.rank, std::nullopt) << "all devices are busy: none decides by itself";
}

TEST(Verdict, NamesTheSlowestOfManyStragglers) {
    std::vector<RankReport> ranks;
    for (int rank = 0; rank < 5; ++rank) {
        ranks.push_back(rank_of(rank, 0s, 10s, 10s, {device(Stage::compute, 10s, 1000)}));
    }
    for (const std::uint64_t items : {500U, 300U, 400U, 200U}) {
        ranks.push_back(rank_of(static_cast<int>(ranks.size()), 0s, 10s, 10s, {device(Stage::compute, 10s, items)}));
    }
    ranks[0].breakdown.written = {.items = 6400, .time = 10s};

    const Verdict pull = judge(run_of(ranks, 6400));

    ASSERT_THAT(pull.stragglers, SizeIs(3)) << "more are not listed";
    EXPECT_DOUBLE_EQ(pull.stragglers[0].rate, 20);
    EXPECT_DOUBLE_EQ(pull.stragglers[1].rate, 30);
    EXPECT_DOUBLE_EQ(pull.stragglers[2].rate, 40);
    EXPECT_DOUBLE_EQ(pull.stragglers[0].usual, 100);
}

TEST(Verdict, NamesTheSlowestOfManyStragglersWhereItDecides) {
    std::vector<RankReport> ranks;
    for (int rank = 0; rank < 9; ++rank) {
        const nanoseconds busy = rank < 5 ? 2s : std::chrono::seconds(rank);
        ranks.push_back(rank_of(rank, 0s, 8s, 8s, {device(Stage::compute, busy, 500)}));
    }
    ranks[0].breakdown.written = {.items = 4500, .time = 8s};
    RunReport run = run_of(ranks, 4500);
    run.distribution = Distribution::fixed;

    EXPECT_EQ(judge(run).rank, 8);
}

TEST(Verdict, NamesNoStragglerAndNoContentionOfDevicesThatDoLittle) {
    std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 1s, 1000), thread(Stage::read, "reader 0", 9s, 1200)}),
        rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 1s, 200)})};
    ranks[0].breakdown.instances[0].delayed = 900ms;
    ranks[0].breakdown.written = {.items = 1200, .time = 10s};

    const Verdict verdict = judge(run_of(ranks, 1200));

    EXPECT_EQ(verdict.binding, Stage::read);
    EXPECT_THAT(verdict.stragglers, IsEmpty());
    EXPECT_THAT(verdict.contended, IsEmpty());
}

TEST(Verdict, TakesAStageAtFourFifthsOfItsCapacityForWhatBinds) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 10s, 1000)})};
    ranks[0].breakdown.written = {.items = 800, .time = 10s};
    EXPECT_EQ(judge(run_of(ranks, 1000)).bound, Bound::stage);

    ranks[0].breakdown.written = {.items = 799, .time = 10s};
    EXPECT_EQ(judge(run_of(ranks, 1000)).bound, Bound::nothing);
}

TEST(Verdict, NamesNoStragglerAmongEvenDevices) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 10s, 1000)}),
                                  rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 10s, 900)}),
                                  rank_of(2, 0s, 10s, 10s, {device(Stage::compute, 9s, 20)})};
    RunReport run = run_of(ranks, 1920);
    EXPECT_THAT(judge(run).stragglers, IsEmpty()) << "two chunks are too few to compare";

    run.chunk_items = 5;
    EXPECT_THAT(judge(run).stragglers, SizeIs(1));

    ranks[2] = rank_of(2, 0s, 10s, 10s, {device(Stage::compute, 9s, 30)});
    EXPECT_THAT(judge(run_of(ranks, 1930)).stragglers, SizeIs(1)) << "three are enough";
}

TEST(Verdict, SaysThatStartUpOrTheEndBinds) {
    std::vector<RankReport> ranks{busy_rank(Stage::compute, 3s, 300)};
    ranks[0].milestones.first_compute = {6s};
    ranks[0].milestones.written = 9s;
    ranks[0].milestones.finish = 10s;
    ranks[0].breakdown.wall.phases[static_cast<std::size_t>(Phase::index)] = 4s;
    ranks[0].breakdown.wall.phases[static_cast<std::size_t>(Phase::publish)] = 9s;

    ranks.push_back(rank_of(1, 7s, 9s, 10s, {}));

    const Verdict startup = judge(run_of(ranks, 300));
    EXPECT_EQ(startup.bound, Bound::startup);
    EXPECT_EQ(startup.line, "start-up binds: 6.00 s of 10.0 s; its longest part is index, 4.00 s");
    EXPECT_THAT(startup.notes, Each(Not(HasSubstr("more devices help"))));

    ranks[0].milestones.first_compute = {1s};
    ranks[0].milestones.written = 4s;
    const Verdict end = judge(run_of(ranks, 300));
    EXPECT_EQ(end.bound, Bound::end);
    EXPECT_EQ(end.line, "the end binds: 6.00 s of 10.0 s; its longest part is publish, 6.00 s");
}

TEST(Verdict, NamesTheReadingOfTheFirstItemsWhereThatIsMostOfStartUp) {
    std::vector<RankReport> ranks{busy_rank(Stage::compute, 3s, 300)};
    ranks[0].milestones.first_compute = {6s};
    ranks[0].milestones.written = 9s;
    ranks[0].milestones.finish = 10s;
    WallView& wall = ranks[0].breakdown.wall;
    wall.phases[static_cast<std::size_t>(Phase::place)] = 1s;
    wall.stages[index_of(Stage::read)] = 7s;

    EXPECT_THAT(judge(run_of(ranks, 300)).line, HasSubstr("; its longest part is read, 5.00 s"))
        << "not more than fits";

    wall.phases[static_cast<std::size_t>(Phase::index)] = 3s;
    EXPECT_THAT(judge(run_of(ranks, 300)).line, HasSubstr("; its longest part is index, 3.00 s"));
}

TEST(Verdict, MeasuresTheRunFromTheFirstStartToTheLastFinish) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 1s, 2s, {}), rank_of(1, 0s, 1s, 4s, {})};
    ranks[0].milestones.start = -1s;

    EXPECT_EQ(wall_time(ranks), 5s);
    EXPECT_EQ(wall_time({}), 0s);
}

TEST(Verdict, CountsAStageThatOnlySomeItemsPassForAllItems) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, 10s, {thread(Stage::scatter, "send", 5s, 500), device(Stage::compute, 4s, 1000)}),
        rank_of(1, 0s, 10s, 10s, {})};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_EQ(verdict.binding, Stage::scatter);
    EXPECT_DOUBLE_EQ(verdict.achievable, 200);
}

TEST(Verdict, PromisesNothingOfDevicesThatTheHostHasNoCoresFor) {
    std::vector<RankReport> ranks{busy_rank(Stage::compute, 10s, 1000)};
    ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 100ms}}};
    RunReport run = run_of(ranks, 1000);
    run.device = DeviceKind::host;

    const Verdict verdict = judge(run);

    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("more nodes or cores help")));
    ASSERT_THAT(verdict.what_if, SizeIs(2));
    EXPECT_TRUE(verdict.what_if[0].change.ends_with("cores of their own") ||
                verdict.what_if[1].change.ends_with("cores of their own"));
}

TEST(Verdict, SaysThatThereWasNothingToDo) {
    EXPECT_EQ(judge(run_of({}, 0)).line, "nothing to do: 0 items");
    EXPECT_EQ(judge(run_of({}, 0)).bound, Bound::unknown);
}

TEST(Verdict, DoesNotInventOneFromNothing) {
    const std::vector<RankReport> idle{rank_of(0, 0s, 1s, 1s, {})};
    const std::vector<RankReport> no_time{rank_of(0, 0s, 0s, 0s, {device(Stage::compute, 0s, 5)})};
    std::vector<RankReport> invalid{busy_rank(Stage::compute, 1s, 5)};
    invalid[0].breakdown.invalid = "finish is 1 ns before start";

    EXPECT_EQ(judge(run_of(idle, 5)).line, "no verdict: no stage recorded any time");
    EXPECT_EQ(judge(run_of(idle, 5)).binding, std::nullopt);
    EXPECT_EQ(judge(run_of(no_time, 5)).line, "no verdict: no stage recorded any time");
    EXPECT_EQ(judge(run_of(invalid, 5)).line, "no verdict: the timers are invalid");
    RunReport some = run_of({busy_rank(Stage::compute, 1s, 5)}, 5);
    some.lost = {{.rank = 1, .host = "n01", .chunks = 1, .items = 1}};
    EXPECT_EQ(judge(some).line, "no verdict: the times of the other ranks are lost");
    EXPECT_EQ(judge(some).bound, Bound::unknown);
}

TEST(Verdict, DoesNotLetAStageThatTookNoTimeBind) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 2s, 2s, {device(Stage::upload, 0s, 5), device(Stage::compute, 1s, 5)})};

    const Verdict verdict = judge(run_of(ranks, 5));

    EXPECT_EQ(verdict.binding, Stage::compute);
    EXPECT_EQ(verdict.capacity[index_of(Stage::upload)], std::nullopt);
}

}  // namespace
}  // namespace sluice
