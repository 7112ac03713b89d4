#include "scheduler/verdict.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

RankReport rank_of(int rank, nanoseconds start, nanoseconds finish, std::vector<InstanceTotals> instances) {
    RankReport report;
    report.rank = rank;
    report.host = fmt::format("n0{}", rank);
    report.milestones.start = start;
    report.milestones.finish = finish;
    report.breakdown.run = finish - start;
    report.breakdown.instances = std::move(instances);
    return report;
}

InstanceTotals device(Stage stage, nanoseconds busy, std::uint64_t items) {
    return {stage, "device 0 (host)", busy, items, 0};
}

TEST(Verdict, NamesTheStageOfLeastCapacity) {
    const std::vector<RankReport> ranks{rank_of(0, 0s, 10s,
                                                {{Stage::read, "read 0", 1s, 1000, 0},
                                                 device(Stage::upload, 500ms, 1000),
                                                 device(Stage::compute, 9s, 1000),
                                                 device(Stage::download, 250ms, 1000)})};

    const Verdict verdict = judge(ranks, 1000);

    EXPECT_EQ(verdict.binding, Stage::compute);
    EXPECT_DOUBLE_EQ(verdict.achieved, 100);
    EXPECT_DOUBLE_EQ(verdict.achievable, 1000.0 / 9);
    EXPECT_DOUBLE_EQ(verdict.share, 0.9);
    EXPECT_EQ(verdict.line, "compute on rank 0 binds: 100 of 111 items/s (90.0 %)");
    EXPECT_THAT(verdict.notes, ElementsAre("NOTE: more devices help; the next limit is read at 1000 items/s"));
}

TEST(Verdict, AddsUpTheDevicesOfAllRanksAndNamesTheBusiest) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, {device(Stage::compute, 8s, 4000), device(Stage::compute, 8s, 2000)}),
        rank_of(1, 1ms, 10s, {device(Stage::compute, 9s, 1800)}),
    };

    const Verdict verdict = judge(ranks, 7800);

    EXPECT_DOUBLE_EQ(verdict.achievable, 500 + 250 + 200);
    EXPECT_EQ(verdict.rank, 1);
    EXPECT_EQ(verdict.line, "compute on rank 1 binds: 780 of 950 items/s (82.1 %)");
}

TEST(Verdict, MeasuresTheRunFromTheFirstStartToTheLastFinish) {
    const std::vector<RankReport> ranks{rank_of(0, -1s, 2s, {}), rank_of(1, 0s, 4s, {})};

    EXPECT_EQ(wall_time(ranks), 5s);
    EXPECT_EQ(wall_time({}), 0s);
}

TEST(Verdict, CountsAStageThatOnlySomeItemsPassForAllItems) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, {{Stage::scatter, "scatter 0", 5s, 500, 0}, device(Stage::compute, 4s, 1000)})};

    const Verdict verdict = judge(ranks, 1000);

    EXPECT_EQ(verdict.binding, Stage::scatter);
    EXPECT_DOUBLE_EQ(verdict.achievable, 200);
}

TEST(Verdict, SaysWhatElseTookTheTimeWhenTheShareIsPoor) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, {device(Stage::compute, 4s, 1000)})};
    ranks[0].breakdown.wall.stages[index_of(Stage::compute)] = 4s;
    ranks[0].breakdown.wall.startup = 5s;
    ranks[0].breakdown.wall.waiting = 1s;

    EXPECT_THAT(judge(ranks, 1000).notes,
                Contains("NOTE: start-up took 50.0 % of the run on rank 0: a larger input makes it matter less"));

    ranks[0].breakdown.wall.startup = 1s;
    ranks[0].breakdown.wall.waiting = 5s;
    EXPECT_THAT(judge(ranks, 1000).notes, Contains(HasSubstr("NOTE: waiting took 50.0 % of the run on rank 0")));

    ranks[0].breakdown.wall.waiting = 1s;
    ranks[0].breakdown.wall.stages[index_of(Stage::upload)] = 4s;
    EXPECT_THAT(judge(ranks, 1000).notes, Contains(HasSubstr("NOTE: upload took 40.0 % of the run on rank 0")));
}

TEST(Verdict, SaysThatDevicesTookTurnsWhenTheWallViewHidesTheirWaiting) {
    std::vector<RankReport> ranks{
        rank_of(0, 0s, 10s, {device(Stage::compute, 5s, 500), device(Stage::compute, 5s, 500)})};
    ranks[0].breakdown.wall.stages[index_of(Stage::compute)] = 10s;

    EXPECT_THAT(judge(ranks, 1000).notes, ElementsAre(HasSubstr("was busy for 50.0 % of the run on average")));
}

TEST(Verdict, PointsOutDevicesWithoutAChunk) {
    const std::vector<RankReport> ranks{rank_of(0, 0s, 1s, {device(Stage::compute, 1s, 3)}),
                                        rank_of(1, 0s, 1s, {device(Stage::compute, 0s, 0)})};

    EXPECT_THAT(judge(ranks, 3).notes, Contains(HasSubstr("NOTE: 1 of 2 had no chunk for compute")));
}

TEST(Verdict, PointsOutUnevenDevices) {
    const std::vector<RankReport> ranks{rank_of(0, 0s, 9s, {device(Stage::compute, 1s, 30)}),
                                        rank_of(1, 0s, 9s, {device(Stage::compute, 9s, 30)})};

    EXPECT_THAT(judge(ranks, 60).notes,
                Contains(HasSubstr("device 0 (host) on rank 1 was busy 9.000 s, the mean is 5.000 s")));
}

TEST(Verdict, GivesEachStageAnAdvice) {
    for (const Stage stage : all_stages) {
        const std::vector<RankReport> ranks{rank_of(0, 0s, 1s, {device(stage, 1s, 3)})};

        const Verdict verdict = judge(ranks, 3);

        EXPECT_EQ(verdict.binding, stage);
        EXPECT_THAT(verdict.notes, ElementsAre(testing::ContainsRegex("NOTE: .*help")));
    }
}

TEST(Verdict, SaysThatThereWasNothingToDo) {
    EXPECT_EQ(judge({}, 0).line, "nothing to do: 0 items");
    EXPECT_EQ(judge(std::vector{rank_of(0, 0s, 1s, {device(Stage::compute, 0s, 0)})}, 0).line,
              "nothing to do: 0 items");
}

TEST(Verdict, DoesNotInventOneFromNothing) {
    const Verdict nothing = judge(std::vector{rank_of(0, 0s, 1s, {})}, 5);
    const Verdict no_time = judge(std::vector{rank_of(0, 0s, 0s, {device(Stage::compute, 0s, 5)})}, 5);
    RankReport invalid = rank_of(0, 0s, 1s, {device(Stage::compute, 1s, 5)});
    invalid.breakdown.invalid = "finish is 1 ns before start";

    EXPECT_EQ(nothing.line, "no verdict: no stage recorded any time");
    EXPECT_EQ(nothing.binding, std::nullopt);
    EXPECT_EQ(no_time.line, "no verdict: no stage recorded any time");
    EXPECT_EQ(judge(std::vector{invalid}, 5).line, "no verdict: the timers are invalid");
}

TEST(Verdict, DoesNotLetAStageThatTookNoTimeBind) {
    const std::vector<RankReport> ranks{
        rank_of(0, 0s, 2s, {device(Stage::upload, 0s, 5), device(Stage::compute, 1s, 5)})};

    const Verdict verdict = judge(ranks, 5);

    EXPECT_EQ(verdict.binding, Stage::compute);
    EXPECT_EQ(verdict.capacity[index_of(Stage::upload)], std::nullopt);
}

TEST(Verdict, NeverFindsMoreAchievedThanAchievable) {
    std::mt19937 random(5);
    const auto number = [&random](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
    for (int round = 0; round < 1000; ++round) {
        const auto wall = std::chrono::milliseconds(number(1, 1000));
        const auto items = static_cast<std::uint64_t>(number(1, 5000));
        std::vector<RankReport> ranks;
        for (int rank = number(1, 5); rank > 0; --rank) {
            std::vector<InstanceTotals> instances;
            for (const Stage stage : {Stage::scatter, Stage::upload, Stage::compute}) {
                instances.push_back(
                    device(stage, wall * number(1, 100) / 100, static_cast<std::uint64_t>(number(0, 900))));
            }
            ranks.push_back(rank_of(rank, 0s, wall, std::move(instances)));
        }

        const Verdict verdict = judge(ranks, items);

        if (verdict.binding) {
            ASSERT_LE(verdict.share, 1 + 1e-9);  // rounding of a few sums of doubles
            ASSERT_GT(verdict.share, 0);
        }
    }
}

TEST(RateText, KeepsSensibleDigits) {
    EXPECT_EQ(rate_text(0), "0");
    EXPECT_EQ(rate_text(0.01234), "0.0123");
    EXPECT_EQ(rate_text(8.326), "8.33");
    EXPECT_EQ(rate_text(44.16), "44.2");
    EXPECT_EQ(rate_text(812.4), "812");
    EXPECT_EQ(rate_text(22306.7), "22307");
    EXPECT_EQ(rate_text(123'400), "123400");
    EXPECT_EQ(rate_text(999'960), "999960");
    EXPECT_EQ(rate_text(1.25e6), "1250000");
}

}  // namespace
}  // namespace sluice
