#include "scheduler/what_if.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/verdict.hpp"
#include "tests/scheduler/verdict_runs.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::device;
using test::rank_of;
using test::run_of;
using test::thread;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(WhatIf, PredictsWhatAChangeWouldBring) {
    std::vector<RankReport> ranks{
        rank_of(0, 1s, 101s, 102s,
                {thread(Stage::read, "reader 0", 1s, 1000), device(Stage::compute, 100s, 1000),
                 thread(Stage::write, "writer", 2s, 1000)})};
    ranks[0].breakdown.written = {.items = 1000, .time = 100s};
    ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 1s}}};

    const Verdict verdict = judge(run_of(ranks, 1000));

    EXPECT_NEAR(verdict.replayed, 1, 0.01);
    ASSERT_THAT(verdict.what_if, SizeIs(2)) << "start-up and all other stages would bring less than 3 %";
    EXPECT_THAT((std::set{verdict.what_if[0].change, verdict.what_if[1].change}),
                ElementsAre("compute 2 x faster", "twice the devices"));
    EXPECT_NEAR(verdict.what_if[0].seconds, 52, 1);

    ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 300ms}}};  // not the run that was
    EXPECT_THAT(judge(run_of(ranks, 1000)).what_if, IsEmpty());
}

TEST(WhatIf, PredictsWhatHalfOfASharedStagesTimeWouldBring) {
    for (const auto& [stage, name] :
         {std::pair{Stage::read, "reader 0"}, std::pair{Stage::parse, "reader 0"}, std::pair{Stage::scatter, "comm"},
          std::pair{Stage::gather, "comm"}, std::pair{Stage::write, "writer"}, std::pair{Stage::commit, "writer"}}) {
        std::vector<RankReport> ranks{
            rank_of(0, 1s, 101s, 102s, {thread(stage, name, 100s, 1000), device(Stage::compute, 10s, 1000)})};
        ranks[0].breakdown.written = {.items = 1000, .time = 100s};
        ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 100ms}}};

        const Verdict verdict = judge(run_of(ranks, 1000));

        EXPECT_NEAR(verdict.replayed, 1, 0.01);
        ASSERT_THAT(verdict.what_if, SizeIs(1));
        EXPECT_EQ(verdict.what_if[0].change, fmt::format("{} 2 x faster", to_string(stage)));
        EXPECT_NEAR(verdict.what_if[0].seconds, 52, 1);
    }
}

TEST(WhatIf, CountsWhatWasReadAheadOfARunThatEndedEarly) {
    std::vector<RankReport> ranks{
        rank_of(0, 1s, 101s, 102s, {thread(Stage::read, "reader 0", 100s, 1000), device(Stage::compute, 10s, 950)})};
    ranks[0].breakdown.written = {.items = 900, .time = 100s};
    ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 100ms}}};

    const Verdict verdict = judge(run_of(ranks, 900));

    EXPECT_DOUBLE_EQ(*verdict.capacity[index_of(Stage::read)], 10);
    EXPECT_DOUBLE_EQ(*verdict.capacity[index_of(Stage::compute)], 95);
    EXPECT_DOUBLE_EQ(verdict.achievable, 10);
    ASSERT_THAT(verdict.what_if, SizeIs(1));
    EXPECT_EQ(verdict.what_if[0].change, "read 2 x faster");
    EXPECT_NEAR(verdict.what_if[0].seconds, 52, 1);
}

TEST(WhatIf, PredictsWhatHalfOfTheCopiesTimeWouldBring) {
    std::vector<RankReport> ranks;
    for (const int rank : {0, 1}) {
        ranks.push_back(
            rank_of(rank, 1s, 51s, 51s, {device(Stage::scatter, 50s, 500), device(Stage::compute, 10s, 500)}));
        ranks.back().device_chunks = {{ChunkDurations{.items = 10, .copy = 1s, .compute = 200ms}}};
    }
    ranks[0].breakdown.written = {.items = 1000, .time = 50s};

    RunReport run = run_of(ranks, 1000);
    run.queues = {.staged = 6, .window = 96};

    const Verdict verdict = judge(run);

    EXPECT_NEAR(verdict.replayed, 1, 0.1);
    EXPECT_THAT(verdict.what_if,
                Contains(testing::AllOf(testing::Field(&WhatIf::change, "scatter 2 x faster"),
                                        testing::Field(&WhatIf::seconds, testing::DoubleNear(26, 1)))));
}

TEST(WhatIf, PredictsWhatHalfOfOneOfAThreadsTwoStagesWouldBring) {
    for (const auto& [first, second, name] :
         {std::tuple{Stage::read, Stage::parse, "reader 0"}, std::tuple{Stage::write, Stage::commit, "writer"}}) {
        std::vector<RankReport> ranks{rank_of(
            0, 1s, 101s, 102s,
            {thread(first, name, 70s, 1000), thread(second, name, 30s, 1000), device(Stage::compute, 10s, 1000)})};
        ranks[0].breakdown.written = {.items = 1000, .time = 100s};
        ranks[0].device_chunks = {{ChunkDurations{.items = 10, .compute = 100ms}}};

        const Verdict verdict = judge(run_of(ranks, 1000));

        EXPECT_NEAR(verdict.replayed, 1, 0.01);
        ASSERT_THAT(verdict.what_if, SizeIs(2));
        EXPECT_NEAR(verdict.what_if[0].seconds, 67, 1);
        EXPECT_NEAR(verdict.what_if[1].seconds, 87, 1);
    }
}

}  // namespace
}  // namespace sluice
