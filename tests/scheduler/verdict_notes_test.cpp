#include "scheduler/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/verdict_runs.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::busy_rank;
using test::device;
using test::rank_of;
using test::run_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Verdict, AdvisesCoresWhereRowsAreMadeOnFewerThanWouldHelp) {
    const std::vector<RankReport> ranks{busy_rank(Stage::write, 10s, 1000)};
    RunReport run = run_of(ranks, 1000);
    run.encoders = {.used = 8, .useful = 8};
    EXPECT_THAT(judge(run).notes, ElementsAre(HasSubstr("a more compact output helps")));

    run.encoders = {.used = 1, .useful = 8};
    EXPECT_THAT(judge(run).notes,
                ElementsAre(HasSubstr("more cores for rank 0 help: it makes rows on one, and 8 would be useful")));
}

TEST(Verdict, ComparesAStragglerWithTheMedianOrTheOnlyOtherDevice) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 10s, 1000)}),
                                  rank_of(1, 0s, 10s, 10s, {device(Stage::compute, 10s, 500)})};

    EXPECT_THAT(judge(run_of(ranks, 1500)).notes,
                Contains(HasSubstr("device 0 (host) on rank 1 computes 50.0 items/s, the other one 100; that costs")));

    ranks.push_back(rank_of(2, 0s, 10s, 10s, {device(Stage::compute, 10s, 900)}));
    EXPECT_THAT(judge(run_of(ranks, 2400)).notes,
                Contains(HasSubstr("device 0 (host) on rank 1 computes 50.0 items/s, the median is 90.0; that costs")));
}

TEST(Verdict, AdvisesNothingThatTheJobDoesAlreadyOrItsAppDoesNotKnow) {
    struct Case {
        Stage stage;
        std::vector<std::pair<std::string, std::string>> settings;
        std::string advice;
    };
    for (const Case& of : std::vector<Case>{
             {Stage::write, {{"output.format", ".csv"}, {"output.scores", "true"}}, "(.npy, output.scores = false)"},
             {Stage::write, {{"output.format", ".npy"}, {"output.scores", "true"}}, "(output.scores = false)"},
             {Stage::write, {{"output.format", ".csv"}, {"output.scores", "false"}}, "(.npy)"},
             {Stage::write, {{"output.format", ".csv"}}, "(.npy)"},
             {Stage::write, {{"output.format", ".npy"}}, "NOTE: a faster file system helps"},
             {Stage::download, {{"output.scores", "true"}}, "(output.scores = false)"},
             {Stage::download, {}, "NOTE: devices with links of their own help"},
             {Stage::gather, {{"output.scores", "true"}}, "(output.scores = false)"},
             {Stage::gather, {{"output.scores", "false"}}, "NOTE: a faster network into rank 0's node helps"},
             {Stage::read, {{"input.format", "npy"}}, "(.u8, uint8 .npy)"},
             {Stage::read, {{"input.format", "u8"}}, "NOTE: a faster file system helps"},
             {Stage::parse, {{"input.format", "txt"}}, "(.u8, .npy)"},
             {Stage::parse, {{"input.format", "npy"}}, "NOTE: more cores for rank 0 help"}}) {
        RunReport run = run_of({busy_rank(of.stage, 10s, 1000)}, 1000);
        run.provenance.identity = of.settings;
        const std::vector<std::string> notes = judge(run).notes;
        ASSERT_THAT(notes, SizeIs(1)) << to_string(of.stage);
        if (of.advice.starts_with("NOTE")) {
            EXPECT_EQ(notes[0], of.advice);
        } else {
            EXPECT_THAT(notes[0], HasSubstr(of.advice));
        }
    }
}

TEST(Verdict, NamesAQuotaThatTookMoreThanATwentiethOfTheRun) {
    std::vector<RankReport> ranks{busy_rank(Stage::compute, 10s, 1000), rank_of(1, 0s, 10s, 10s, {})};
    ranks[1].facts.throttling = {.periods = 100, .throttled = 60, .time = 400ms};
    RunReport run = run_of(ranks, 1000);
    run.device = DeviceKind::host;
    EXPECT_FALSE(judge(run).throttled.has_value());
    EXPECT_THAT(judge(run).notes, Contains(HasSubstr("more nodes or cores help")));

    run.ranks[1].facts.throttling->time = 600ms;

    const Verdict verdict = judge(run);
    ASSERT_TRUE(verdict.throttled.has_value());
    EXPECT_EQ(verdict.throttled->rank, 1);
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("rank 1's cgroup on n01 was used up in 60 of 100 periods")));
    EXPECT_THAT(verdict.notes, Not(Contains(HasSubstr("more nodes or cores help"))));
    run.ranks[0].facts.throttling = {.periods = 100, .throttled = 50, .time = 550ms};
    EXPECT_EQ(judge(run).throttled->rank, 1) << "the longest";
    run.device = DeviceKind::cuda;
    EXPECT_THAT(judge(run).notes, Contains(HasSubstr("more devices help"))) << "GPUs do not run on CPUs";
}

TEST(Verdict, SaysThatNothingBindsAndNeverAdvisesWhatIsSet) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 10s, 10s, {device(Stage::compute, 4s, 1000)})};
    ranks[0].breakdown.written = {.items = 1000, .time = 10s};
    RunReport run = run_of(ranks, 1000);

    const Verdict overlapped = judge(run);
    EXPECT_EQ(overlapped.bound, Bound::nothing);
    EXPECT_EQ(overlapped.line, "nothing binds: compute comes closest with 100 of 250 items/s (40.0 %)");
    EXPECT_THAT(overlapped.notes, ElementsAre(HasSubstr("a pipeline.depth above 3")));

    run.mode = PipelineMode::serial;
    EXPECT_THAT(judge(run).notes, ElementsAre(HasSubstr("\"overlap\" does not")));

    run.mode = PipelineMode::overlap;
    run.chunk_items = 200;
    EXPECT_THAT(judge(run).notes, ElementsAre(HasSubstr("smaller pipeline.chunk_items")));

    run.items_done = 7;
    run.chunk_items = 1;
    EXPECT_THAT(judge(run).notes, ElementsAre("NOTE: 7 chunks for 1 device are too few to keep it busy"));

    run.ranks[0].milestones.first_compute.push_back(0s);
    run.ranks[0].device_chunks.push_back({ChunkDurations{}});
    run.items_done = 15;
    EXPECT_THAT(judge(run).notes, ElementsAre("NOTE: 15 chunks for 2 devices are too few to keep them busy; fewer "
                                              "devices suit this job"));
}

TEST(Verdict, TellsThreadsWithoutACpuFromSlowCode) {
    std::vector<RankReport> ranks{busy_rank(Stage::compute, 10s, 1000)};
    ranks[0].breakdown.instances[0].delayed = 1s;
    EXPECT_THAT(judge(run_of(ranks, 1000)).contended, IsEmpty());
    EXPECT_THAT(judge(run_of(ranks, 1000)).notes, Contains(HasSubstr("more devices help")));

    ranks[0].breakdown.instances[0].delayed = 5s;

    const Verdict verdict = judge(run_of(ranks, 1000));
    ASSERT_THAT(verdict.contended, SizeIs(1));
    EXPECT_EQ(verdict.contended[0].stage, Stage::compute);
    EXPECT_DOUBLE_EQ(verdict.contended[0].share, 0.5);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("waited 50 % of their time for a CPU")));
}

TEST(Verdict, DoesNotCallAShortWaitInALongStartUpContention) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 1s, 1s, {device(Stage::compute, 1s, 1000)})};
    ranks[0].breakdown.instances[0].delayed = 900ms;
    ASSERT_THAT(judge(run_of(ranks, 1000)).contended, SizeIs(1));

    ranks[0].milestones.start = -30s;

    const Verdict verdict = judge(run_of(ranks, 1000));
    EXPECT_EQ(verdict.bound, Bound::startup);
    EXPECT_THAT(verdict.contended, IsEmpty());
}

TEST(Verdict, PointsOutDevicesWithoutAChunk) {
    std::vector<RankReport> ranks{rank_of(0, 0s, 1s, 1s, {device(Stage::compute, 1s, 3)}), rank_of(1, 0s, 1s, 1s, {})};
    ranks[1].device_chunks = {{}};

    RunReport run = run_of(ranks, 3);
    EXPECT_THAT(judge(run).notes,
                Contains("NOTE: 1 of 2 devices had no chunk; a smaller pipeline.chunk_items, or fewer devices, suits "
                         "this job"));

    const char* const fewer = "NOTE: 1 of 2 devices had no chunk; fewer devices suit this job";
    run.chunk_items = 1;
    EXPECT_THAT(judge(run).notes, Contains(fewer)) << "chunks cannot be smaller";
    EXPECT_THAT(judge(run_of(ranks, 1)).notes, Contains(fewer)) << "one item goes to one device";
}

TEST(Verdict, AdvisesALowerPrecisionWhereThereIsOne) {
    RunReport run = run_of({busy_rank(Stage::compute, 10s, 1000)}, 1000);
    for (const Precision precision : {Precision::fp32, Precision::tf32x3, Precision::tf32, Precision::certified}) {
        run.precision = precision;
        EXPECT_THAT(judge(run).notes, ElementsAre("NOTE: more devices help, or a lower precision"));
    }
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp8}) {
        run.precision = precision;
        EXPECT_THAT(judge(run).notes, ElementsAre("NOTE: more devices help"));
    }
}

TEST(Verdict, GivesEachStageAnAdvice) {
    for (const Stage stage : all_stages) {
        const std::vector<RankReport> ranks{busy_rank(stage, 1s, 30)};

        const Verdict verdict = judge(run_of(ranks, 30));

        EXPECT_EQ(verdict.binding, stage);
        EXPECT_THAT(verdict.notes, ElementsAre(testing::ContainsRegex("NOTE: .*help")));
    }
}

}  // namespace
}  // namespace sluice
