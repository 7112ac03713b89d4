#include "scheduler/breakdown.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "scheduler/interval_set.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

Instant at(std::int64_t tick) {
    return Instant(nanoseconds(tick));
}

Interval between(std::int64_t begin, std::int64_t end) {
    return {at(begin), at(end)};
}

RankTrace trace_of(std::int64_t start, std::int64_t finish) {
    RankTrace trace;
    trace.host = "n01";
    trace.milestones.start = at(start);
    trace.milestones.finish = at(finish);
    return trace;
}

TEST(IntervalSet, JoinsWhatOverlapsOrTouches) {
    const IntervalSet set({between(10, 20), between(0, 5), between(20, 21), between(12, 15), between(30, 30)});

    EXPECT_THAT(set.intervals(), testing::ElementsAre(between(0, 5), between(10, 21)));
    EXPECT_EQ(set.length(), 16ns);
}

TEST(IntervalSet, IsEmptyWithoutIntervals) {
    EXPECT_EQ(IntervalSet(std::vector<Interval>()).length(), 0ns);
}

TEST(Breakdown, CountsTheTimeInWhichItemsComeToOtherRanksThanTheFirstOnce) {
    RankTrace trace = trace_of(100, 200);
    trace.devices.emplace_back("host", 2);
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {0, 0, 8}, .scatter = between(90, 130)});
    trace.devices[0].add({.chunk = {2, 16, 3}, .scatter = between(160, 170)});
    trace.devices[1].add({.chunk = {1, 8, 8}, .scatter = between(120, 150)});

    EXPECT_EQ(break_down(trace).receiving, 0ns);
    trace.rank = 1;
    EXPECT_EQ(break_down(trace).receiving, 60ns);
}

TEST(Breakdown, AddsUpBusyTimeChunksAndItems) {
    RankTrace trace = trace_of(100, 200);
    trace.devices.emplace_back("host", 2);
    trace.devices[0].add({.chunk = {0, 0, 8}, .compute = between(110, 150)});
    trace.devices[0].add({.chunk = {1, 8, 3}, .compute = between(160, 170)});

    const Breakdown breakdown = break_down(trace);

    const StageTotals& compute = breakdown.at(Stage::compute);
    EXPECT_EQ(breakdown.run, 100ns);
    EXPECT_EQ(compute.busy, 50ns);
    EXPECT_EQ(compute.active, 50ns);
    EXPECT_EQ(compute.exposed, 50ns);
    EXPECT_EQ(compute.chunks, 2U);
    EXPECT_EQ(compute.items, 11U);
}

TEST(Breakdown, AddsUpDevicesButCountsSharedTimeOnceAsActive) {
    RankTrace trace = trace_of(0, 100);
    for (int device = 0; device < 2; ++device) {
        trace.devices.emplace_back("host", 1);
        trace.devices.back().add({.chunk = {0, 0, 4}, .compute = between(10, 60)});
    }

    const StageTotals compute = break_down(trace).at(Stage::compute);

    EXPECT_EQ(compute.busy, 100ns);
    EXPECT_EQ(compute.active, 50ns);
}

TEST(Breakdown, SeparatesWhatAStageDoesByItselfFromWhatOverlaps) {
    RankTrace trace = trace_of(0, 100);
    trace.phases.push_back({Phase::devices, between(0, 10)});
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {0, 0, 4}, .upload = between(30, 40), .compute = between(20, 90)});

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.at(Stage::upload).exposed, 0ns);
    EXPECT_EQ(breakdown.at(Stage::upload).hidden(), 10ns);
    EXPECT_EQ(breakdown.at(Stage::compute).exposed, 60ns);
    EXPECT_EQ(breakdown.wall.stages[index_of(Stage::compute)], 60ns);
    EXPECT_EQ(breakdown.wall.overlapped, 10ns);
    EXPECT_EQ(breakdown.wall.phases[static_cast<std::size_t>(Phase::devices)], 10ns);
    EXPECT_EQ(breakdown.wall.waiting, 20ns);
}

TEST(Breakdown, TakesScatterFromTheThreadThatSendsWhereThereIsOne) {
    RankTrace trace = trace_of(0, 100);
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {0, 0, 4}, .scatter = between(0, 90)});
    trace.threads.emplace_back("send", 1);
    trace.threads[0].add({.stage = Stage::scatter, .busy = between(80, 90), .items = 4, .bytes = 4056});

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.at(Stage::scatter).busy, 10ns);
    EXPECT_EQ(breakdown.at(Stage::scatter).items, 4U);
    EXPECT_EQ(breakdown.wall.waiting, 90ns);
}

TEST(Breakdown, CountsTheBytesThatDevicesMove) {
    RankTrace trace = trace_of(0, 100);
    trace.copies_items = true;
    trace.devices.emplace_back("host", 2, IoShape{.input_bytes = 11, .output_bytes = 3});
    for (std::uint64_t id = 0; id < 2; ++id) {
        trace.devices[0].add({.chunk = {id, 4 * id, 4},
                              .scatter = between(1, 2),
                              .upload = between(2, 3),
                              .compute = between(3, 4),
                              .download = between(4, 5)});
    }

    std::map<Stage, std::uint64_t> bytes;
    for (const InstanceTotals& instance : break_down(trace).instances) {
        bytes[instance.stage] = instance.bytes;
    }

    EXPECT_EQ(bytes.at(Stage::scatter), 88U);
    EXPECT_EQ(bytes.at(Stage::upload), 88U);
    EXPECT_EQ(bytes.at(Stage::compute), 0U);
    EXPECT_EQ(bytes.at(Stage::download), 24U);
}

TEST(Breakdown, TellsCopiesOfItemsFromMessages) {
    RankTrace trace = trace_of(0, 100);
    trace.copies_items = true;
    trace.devices.emplace_back("host", 1, IoShape{.input_bytes = 11, .output_bytes = 3});
    trace.devices[0].add({.chunk = {0, 0, 4}, .scatter = between(10, 30)});
    trace.threads.emplace_back("send", 1);
    trace.threads[0].add({.stage = Stage::scatter, .busy = between(20, 90), .items = 6, .bytes = 99});

    const Breakdown root = break_down(trace);

    EXPECT_EQ(root.at(Stage::scatter).items, 10U);
    EXPECT_EQ(root.at(Stage::scatter).busy, 90ns);
    EXPECT_EQ(root.at(Stage::scatter).active, 80ns);
    EXPECT_THAT(root.instances,
                testing::IsSupersetOf(
                    {InstanceTotals{.stage = Stage::scatter,
                                    .name = "device 0 (host)",
                                    .busy = 20ns,
                                    .items = 4,
                                    .of_device = true,
                                    .bytes = 44},
                     InstanceTotals{.stage = Stage::scatter, .name = "send", .busy = 70ns, .items = 6, .bytes = 99}}));

    trace.rank = 1;
    trace.threads.clear();

    const Breakdown other = break_down(trace);

    EXPECT_EQ(other.at(Stage::scatter).busy, 20ns);
    EXPECT_EQ(other.receiving, 0ns);
}

TEST(Breakdown, CallsWhatAnotherRankWaitsForNoWork) {
    RankTrace trace = trace_of(0, 100);
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {0, 0, 4}, .scatter = between(0, 90), .gather = between(90, 95)});
    EXPECT_EQ(break_down(trace).at(Stage::scatter).busy, 90ns) << "rank 0 copies its devices' items itself";

    trace.rank = 1;

    const Breakdown breakdown = break_down(trace);
    EXPECT_EQ(breakdown.at(Stage::scatter).busy, 0ns);
    EXPECT_EQ(breakdown.at(Stage::gather).busy, 0ns);
    EXPECT_EQ(breakdown.wall.waiting, 100ns);
}

TEST(Breakdown, TakesTwoStagesOfOneThreadApart) {
    RankTrace trace = trace_of(0, 100);
    trace.threads.emplace_back("reader 0", 4);
    trace.threads[0].add({.stage = Stage::read, .busy = between(0, 40), .items = 8, .bytes = 99}, Stage::parse, 30ns);
    trace.threads[0].add({.stage = Stage::read, .busy = between(50, 60), .items = 8}, Stage::parse, 0ns);
    trace.threads[0].add({.stage = Stage::read, .busy = between(60, 70), .items = 8}, Stage::parse, 10ns);

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.at(Stage::read).busy, 20ns);
    EXPECT_EQ(breakdown.at(Stage::parse).busy, 40ns);
    EXPECT_EQ(breakdown.at(Stage::parse).items, 16U);
}

TEST(Breakdown, CountsOnlyTheTimeInsideTheRun) {
    RankTrace trace = trace_of(100, 200);
    trace.threads.emplace_back("reader 0", 2);
    trace.threads[0].add({.busy = between(50, 110), .items = 1});
    trace.threads[0].add({.busy = between(190, 500), .items = 1});
    trace.phases.push_back({Phase::launch, between(0, 120)});

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.at(Stage::read).busy, 20ns);
    EXPECT_EQ(breakdown.at(Stage::read).items, 2U);
    EXPECT_EQ(breakdown.wall.total(), 100ns);
}

TEST(Breakdown, NamesDevicesAndThreadsAsResources) {
    RankTrace trace = trace_of(0, 100);
    trace.devices.emplace_back("NVIDIA \x1b[31m", 1);
    trace.devices[0].add({.chunk = {0, 0, 4}, .compute = between(10, 30)});
    trace.devices[0].set_run_delay(5ns);
    trace.threads.emplace_back("reader 0", 1);
    trace.threads.emplace_back("reader 1", 1);
    trace.threads[1].add({.busy = between(1, 3), .items = 4, .bytes = 99});

    const Breakdown breakdown = break_down(trace);

    EXPECT_THAT(breakdown.instances,
                testing::IsSupersetOf(
                    {InstanceTotals{.stage = Stage::compute,
                                    .name = "device 0 (NVIDIA \\x1b[31m)",
                                    .busy = 20ns,
                                    .items = 4,
                                    .of_device = true,
                                    .delayed = 5ns},
                     InstanceTotals{.stage = Stage::read, .name = "reader 1", .busy = 2ns, .items = 4, .bytes = 99}}));
}

TEST(Breakdown, HoldsForARunWithoutAnyWork) {
    const Breakdown breakdown = break_down(trace_of(5, 25));

    EXPECT_EQ(breakdown.run, 20ns);
    EXPECT_EQ(breakdown.wall.waiting, 20ns);
    EXPECT_EQ(breakdown.invalid, "");
}

TEST(Breakdown, HoldsForARunThatTookNoTime) {
    const Breakdown breakdown = break_down(trace_of(5, 5));

    EXPECT_EQ(breakdown.run, 0ns);
    EXPECT_EQ(breakdown.wall.total(), 0ns);
    EXPECT_EQ(breakdown.invalid, "");
}

TEST(Breakdown, GivesTimeWithoutAStageToTheFirstPhaseUnderWay) {
    RankTrace trace = trace_of(0, 100);
    trace.phases = {{Phase::index, between(10, 50)}, {Phase::weights, between(20, 60)}, {Phase::launch, between(0, 5)}};
    trace.threads.emplace_back("reader 0", 1);
    trace.threads[0].add({.busy = between(45, 55), .items = 4});

    const WallView wall = break_down(trace).wall;

    EXPECT_EQ(wall.phases[static_cast<std::size_t>(Phase::launch)], 5ns);
    EXPECT_EQ(wall.phases[static_cast<std::size_t>(Phase::index)], 35ns);
    EXPECT_EQ(wall.phases[static_cast<std::size_t>(Phase::weights)], 5ns);
    EXPECT_EQ(wall.stages[index_of(Stage::read)], 10ns);
    EXPECT_EQ(wall.waiting, 45ns);
}

TEST(Breakdown, NamesTheIntervalThatEndsBeforeItBegins) {
    RankTrace trace = trace_of(0, 100);
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {17, 0, 4}, .upload = between(40, 28)});

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.invalid, "device 0 (host), chunk 17: upload ends 12 ns before it begins");
    EXPECT_EQ(breakdown.run, 0ns);
}

TEST(Breakdown, NamesTheHostThreadAndTheRunThatGoBackwards) {
    RankTrace thread = trace_of(0, 100);
    thread.threads.emplace_back("writer", 1);
    thread.threads[0].add({.stage = Stage::write, .busy = between(9, 8)});
    RankTrace phase = trace_of(0, 100);
    phase.phases.push_back({Phase::index, between(9, 8)});

    EXPECT_EQ(break_down(thread).invalid, "writer: write ends 1 ns before it begins");
    EXPECT_EQ(break_down(phase).invalid, "index ends before it begins");
    EXPECT_EQ(break_down(trace_of(100, 40)).invalid, "finish is 60 ns before start");
}

/// The definition of the wall view, one tick at a time.
WallView sampled(const RankTrace& trace) {
    WallView wall;
    const auto covers = [](const Interval& interval, Instant tick) {
        return interval.begin <= tick && tick < interval.end;
    };
    const auto works = [&](Stage stage, Instant tick) {
        bool threads = trace.rank != 0;
        bool working = false;
        for (const ThreadTrace& thread : trace.threads) {
            for (const ThreadSpan& span : thread.spans()) {
                threads = threads || span.stage == stage;
                working = working || (span.stage == stage && covers(span.busy, tick));
            }
        }
        for (const DeviceTrace& device : trace.devices) {
            for (const ChunkSpans& spans : device.chunks()) {
                working = working || (stage == Stage::scatter && !threads && covers(spans.scatter, tick)) ||
                          (stage == Stage::upload && covers(spans.upload, tick)) ||
                          (stage == Stage::compute && covers(spans.compute, tick)) ||
                          (stage == Stage::download && covers(spans.download, tick)) ||
                          (stage == Stage::gather && !threads && covers(spans.gather, tick));
            }
        }
        return working;
    };
    for (Instant tick = trace.milestones.start; tick < trace.milestones.finish; tick += 1ns) {
        std::vector<Stage> at_work;
        std::ranges::copy_if(all_stages, std::back_inserter(at_work), [&](Stage stage) { return works(stage, tick); });
        const auto first = std::ranges::min_element(trace.phases, {}, [&](const PhaseSpan& span) {
            return covers(span.time, tick) ? static_cast<int>(span.phase) : 1000;
        });
        if (!at_work.empty()) {
            (at_work.size() == 1 ? wall.stages[index_of(at_work[0])] : wall.overlapped) += 1ns;
        } else if (first != trace.phases.end() && covers(first->time, tick)) {
            wall.phases[static_cast<std::size_t>(first->phase)] += 1ns;
        } else {
            wall.waiting += 1ns;
        }
    }
    return wall;
}

class RandomTraces {
public:
    explicit RandomTraces(std::uint32_t seed) : random_(seed) {}

    RankTrace next() {
        const std::int64_t start = number(0, 50);
        RankTrace trace = trace_of(start, start + number(0, 150));
        trace.rank = static_cast<int>(number(0, 1));
        for (std::int64_t phases = number(0, 4); phases > 0; --phases) {
            trace.phases.push_back({static_cast<Phase>(number(0, phase_count - 1)), interval()});
        }
        for (std::int64_t device = number(0, 3); device > 0; --device) {
            trace.devices.emplace_back("host", 6);
            for (std::int64_t chunk = number(0, 6); chunk > 0; --chunk) {
                trace.devices.back().add({.chunk = {0, 0, 1},
                                          .scatter = interval(),
                                          .upload = interval(),
                                          .compute = interval(),
                                          .download = interval(),
                                          .gather = interval()});
            }
        }
        for (const auto& [first, second] :
             {std::pair{Stage::read, Stage::parse}, std::pair{Stage::scatter, Stage::scatter},
              std::pair{Stage::gather, Stage::gather}, std::pair{Stage::write, Stage::commit}}) {
            for (std::int64_t thread = number(0, 2); thread > 0; --thread) {
                trace.threads.emplace_back(fmt::format("thread {}", trace.threads.size()), 5);
                for (std::int64_t span = number(0, 5); span > 0; --span) {
                    trace.threads.back().add(
                        {.stage = number(0, 1) == 0 ? first : second, .busy = interval(), .items = 1});
                }
            }
        }
        return trace;
    }

private:
    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }

    Interval interval() {
        const std::int64_t begin = number(1, 220);
        return number(0, 4) == 0 ? Interval{} : between(begin, begin + number(0, 30));
    }

    std::mt19937 random_;
};

TEST(Breakdown, GivesEveryInstantToTheRowThatTheDefinitionNames) {
    RandomTraces traces(17);
    for (int round = 0; round < 400; ++round) {
        const RankTrace trace = traces.next();

        const Breakdown breakdown = break_down(trace);

        ASSERT_EQ(breakdown.invalid, "");
        ASSERT_EQ(breakdown.wall, sampled(trace)) << "round " << round;
        ASSERT_EQ(breakdown.wall.total(), breakdown.run);
    }
}

TEST(Breakdown, CountsASuspensionAsNothingElse) {
    RankTrace trace = trace_of(0, 1000);
    trace.suspended = {between(-50, 10), between(300, 700)};
    trace.devices.emplace_back("host", 3);
    trace.devices[0].add({.chunk = {0, 0, 4}, .compute = between(100, 200)});
    trace.devices[0].add({.chunk = {1, 4, 4}, .compute = between(200, 750)});
    trace.devices[0].add({.chunk = {2, 8, 4}, .compute = between(750, 900)});
    trace.phases.push_back({Phase::publish, between(900, 1000)});

    const Breakdown breakdown = break_down(trace);

    EXPECT_EQ(breakdown.run, 1000ns);
    EXPECT_EQ(breakdown.wall.total(), 1000ns);
    EXPECT_EQ(breakdown.wall.suspended, 410ns);
    EXPECT_EQ(breakdown.wall.waiting, 90ns);
    EXPECT_EQ(breakdown.at(Stage::compute).busy, 400ns);
    EXPECT_EQ(breakdown.at(Stage::compute).exposed, 400ns);
    const auto device = std::ranges::find(breakdown.instances, Stage::compute, &InstanceTotals::stage);
    ASSERT_NE(device, breakdown.instances.end());
    EXPECT_EQ(device->steady, (SteadyStretch{.items = 8, .time = 300ns, .busy = 300ns}));
}

TEST(Breakdown, NeverHasAStageOrAResourceActiveLongerThanTheRun) {
    RandomTraces traces(4);
    for (int round = 0; round < 400; ++round) {
        const Breakdown breakdown = break_down(traces.next());

        for (const Stage stage : all_stages) {
            const StageTotals& totals = breakdown.at(stage);
            ASSERT_LE(totals.exposed, totals.active);
            ASSERT_LE(totals.active, breakdown.run);
            ASSERT_LE(totals.active, totals.busy);
            ASSERT_LE(breakdown.wall.stages[index_of(stage)], totals.active);
        }
        for (const InstanceTotals& instance : breakdown.instances) {
            ASSERT_LE(instance.busy, breakdown.at(instance.stage).active);
        }
    }
}

}  // namespace
}  // namespace sluice
