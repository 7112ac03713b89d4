#include "scheduler/steady_stretch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

Interval between(nanoseconds begin, nanoseconds end) {
    return {Instant(begin), Instant(end)};
}

struct Computing {
    nanoseconds chunk{};  ///< What a full chunk takes.
    nanoseconds begin = 1us;
    nanoseconds first{};  ///< How much longer the first one takes.
};

/// Devices that take chunks of 70 items as they become free, one of which may be short, and a writer in chunks' order.
struct Schedule {
    std::vector<Computing> devices{};
    std::uint64_t chunks = 16;
    std::uint32_t last_items = 70;
    nanoseconds reading = 1ns;
    nanoseconds writing = 1us;
    Distribution distribution = Distribution::pull;
};

RankReport report_of(const Schedule& schedule) {
    RankTrace trace;
    std::vector<nanoseconds> free;
    for (const Computing& device : schedule.devices) {
        trace.devices.emplace_back("host", schedule.chunks);
        trace.milestones.first_compute.emplace_back(Instant(device.begin));
        free.push_back(device.begin);
    }
    trace.threads.emplace_back("writer", schedule.chunks);
    trace.threads.emplace_back("reader 0", schedule.chunks);
    nanoseconds read{};
    nanoseconds written{};
    for (std::uint64_t id = 0; id < schedule.chunks; ++id) {
        const bool is_short = id + 1 == schedule.chunks;
        const std::uint32_t items = is_short ? schedule.last_items : 70;
        const std::size_t device = schedule.distribution == Distribution::fixed
                                       ? id % free.size()
                                       : static_cast<std::size_t>(std::ranges::min_element(free) - free.begin());
        const Computing& computing = schedule.devices[device];
        trace.threads[1].add({.busy = between(read, read + schedule.reading), .items = items});
        read += schedule.reading;
        const nanoseconds begin = std::max(read, free[device]);
        free[device] = begin + computing.chunk * items / 70 + (begin == computing.begin ? computing.first : 0ns);
        trace.devices[device].add({.chunk = {id, 70 * id, items}, .compute = between(begin, free[device])});
        const nanoseconds from = std::max(written, free[device]);
        written = from + schedule.writing;
        trace.threads[0].add({.stage = Stage::write, .busy = between(from, written), .items = items});
    }
    trace.milestones.finish = Instant(written);
    return make_rank_report(trace, Instant(0ns), 0ns);
}

Verdict verdict_of(const Schedule& schedule) {
    const std::uint64_t items = 70 * (schedule.chunks - 1) + schedule.last_items;
    return judge({.items = items,
                  .items_done = items,
                  .chunk_items = 70,
                  .depth = 3,
                  .queues = {.staged = 2, .window = 2},
                  .distribution = schedule.distribution,
                  .ranks = {report_of(schedule)}});
}

TEST(SteadyStretch, OfADeviceLeavesOutAnEighthOfItsChunksAtEachEnd) {
    DeviceTrace device("host", 16);
    for (std::uint32_t chunk = 0; chunk < 16; ++chunk) {
        device.add({.chunk = {chunk, 0, chunk}, .compute = between(100us * chunk + 1us, 100us * chunk + 81us)});
    }

    const std::uint64_t items = 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13;
    EXPECT_EQ(find_steady_stretch(device), (SteadyStretch{.items = items, .time = 1100us, .busy = 11 * 80us}));
}

TEST(SteadyStretch, OfADeviceCountsTimeOnceInWhichSeveralChunksAreComputed) {
    DeviceTrace device("host", 4);
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
        device.add({.chunk = {chunk, 0, 5}, .compute = between(100us * chunk + 1us, 100us * chunk + 201us)});
    }

    EXPECT_EQ(find_steady_stretch(device), (SteadyStretch{.items = 15, .time = 300us, .busy = 300us}));
}

TEST(SteadyStretch, NeedsTwoChunksAndTimeBetweenThem) {
    DeviceTrace device("host", 3);
    EXPECT_EQ(find_steady_stretch(device), std::nullopt);
    device.add({.chunk = {0, 0, 5}});
    device.add({.chunk = {1, 5, 5}, .compute = between(1us, 3us)});
    EXPECT_EQ(find_steady_stretch(device), std::nullopt) << "one chunk was computed";
    device.add({.chunk = {2, 10, 5}, .compute = between(2us, 3us)});
    EXPECT_EQ(find_steady_stretch(device), std::nullopt) << "both at once";
}

TEST(SteadyStretch, OfTheWriterIsTheLineThroughTheMiddle) {
    RankTrace trace;
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {0, 0, 4}, .compute = between(-50ns, -10ns)});
    trace.threads.emplace_back("writer", 16);
    for (int chunk = 0; chunk < 16; ++chunk) {
        trace.threads[0].add(
            {.stage = Stage::write, .busy = between(100ns * chunk, 100ns * chunk + 100ns), .items = 4});
        if (chunk == 14) {
            EXPECT_EQ(find_written_stretch(trace), (SteadyStretch{.items = 60, .time = 1550ns}))
                << "too few chunks: from the first one's compute to the last one's write";
        }
    }

    EXPECT_EQ(find_written_stretch(trace), (SteadyStretch{.items = 48, .time = 1200ns}));
    EXPECT_EQ(find_written_stretch(RankTrace()), std::nullopt);
    EXPECT_EQ((SteadyStretch{.items = 3, .time = 0ns}).rate(), std::nullopt);
}

TEST(SteadyStretch, OfFewChunksEndsWithTheirCommit) {
    RankTrace trace;
    trace.threads.emplace_back("writer", 2);
    trace.threads[0].add({.stage = Stage::write, .busy = between(0ns, 100ns), .items = 4});
    trace.threads[0].add({.stage = Stage::commit, .busy = between(100ns, 900ns), .items = 4});

    EXPECT_EQ(find_written_stretch(trace), (SteadyStretch{.items = 4, .time = 900ns}));
}

TEST(SteadyStretch, OfTheWriterHardlyDependsOnWhereBurstsAreCut) {
    for (int shift = 0; shift < 11; ++shift) {
        RankTrace trace;
        trace.threads.emplace_back("writer", 160);
        for (int chunk = 0; chunk < 160; ++chunk) {
            const nanoseconds begin = 1us * ((chunk + shift) / 11) + 1ns * ((chunk + shift) % 11);
            trace.threads[0].add({.stage = Stage::write, .busy = between(begin, begin + 1ns), .items = 4});
        }

        // Both ends may lie anywhere in a burst, of which the stretch has eleven: cutting there would be off by 9 %.
        EXPECT_NEAR(find_written_stretch(trace)->rate().value(), 44e6, 0.01 * 44e6) << shift;
    }
}

TEST(SteadyRate, IsTheDevicesAddedUpHoweverTheirChunksFallTogether) {
    const std::vector<std::pair<const char*, std::vector<Computing>>> cases{
        {"one", {{1ms}}},
        {"in lockstep", {{1ms}, {1ms}}},
        {"in turn", {{1ms}, {1ms, 501us}}},
        {"nearly in lockstep", {{1ms}, {980us}}},
        {"four in lockstep", {{1ms}, {1ms}, {1ms}, {1ms}}},
        {"four unequal ones", {{1ms}, {1300us}, {1700us}, {2400us}}},
        {"one much slower", {{1ms}, {1ms}, {4ms}, {1ms}}},
        {"slow to begin", {{1ms, 1us, 3ms}, {1ms, 1us, 2ms}}},
    };
    for (const auto& [name, devices] : cases) {
        double possible = 0;
        for (const Computing& device : devices) {
            possible += 70 / Seconds(device.chunk).count();
        }
        for (const std::uint64_t chunks : {16, 17, 24, 32, 61, 200}) {
            for (const std::uint32_t last_items : {70U, 7U}) {
                const Verdict verdict = verdict_of({.devices = devices, .chunks = chunks, .last_items = last_items});

                EXPECT_NEAR(verdict.steady, possible, 1e-9 * possible) << name << ", " << chunks << ", " << last_items;
                EXPECT_NEAR(verdict.share, 1, 1e-9) << name << ", " << chunks << ", " << last_items;
            }
        }
    }
}

TEST(SteadyRate, TakesTheItemsOfADeviceWithOneChunkToComeInTheSameTime) {
    const Verdict verdict = verdict_of({.devices = {{1ms}, {2ms, 40ms}}, .chunks = 41});

    EXPECT_NEAR(verdict.steady, 70e3 * 41 / 40, 1);
}

TEST(SteadyRate, IsThatOfTheSlowestDeviceWhereChunksAreDealtOut) {
    const Verdict verdict =
        verdict_of({.devices = {{1ms}, {1ms}, {3ms}}, .chunks = 48, .distribution = Distribution::fixed});

    EXPECT_NEAR(verdict.steady, 3 * 70 / 3e-3, 1);
    EXPECT_NEAR(verdict.share, 1, 1e-9);
}

TEST(SteadyRate, IsThatOfWhatDevicesWaitForHoweverLateOneOfThemBegins) {
    const Verdict verdict = verdict_of({.devices = {{150us}, {150us, 10ms}}, .chunks = 100, .reading = 200us});

    EXPECT_EQ(verdict.binding, Stage::read);
    EXPECT_NEAR(verdict.steady, 70 / 200e-6, 1) << "the devices' own rates, over times of their own, are more";
}

TEST(SteadyRate, IsTheWritersWhereItIsBehind) {
    const Verdict verdict = verdict_of({.devices = {{1ms}, {1ms}, {1ms}, {1ms}}, .chunks = 32, .writing = 400us});

    EXPECT_EQ(verdict.binding, Stage::write);
    EXPECT_NEAR(verdict.steady, 70 / 400e-6, 1);
    EXPECT_NEAR(verdict.share, 1, 1e-6);
}

TEST(SteadyRate, IsNeverMoreThanTheCapacity) {
    const Verdict one_chunk_late = verdict_of({.devices = {{1ms}, {50ms}}, .chunks = 41});
    EXPECT_NEAR(one_chunk_late.steady, 70e3 + 1.4e3, 1) << "as if that chunk came in time: 71750";
    EXPECT_DOUBLE_EQ(one_chunk_late.share, 1);

    const Verdict in_a_burst = verdict_of({.devices = {{1us, 2us, 12us}, {1us, 2us}}, .chunks = 32, .reading = 2us});
    EXPECT_EQ(in_a_burst.binding, Stage::read);
    EXPECT_DOUBLE_EQ(in_a_burst.share, 1) << "results behind the first one are written at once, as at 1.19 of it";
}

TEST(SteadyRate, IsTheRunsWhereAllResultsWaitedForTheFirst) {
    const Verdict verdict = verdict_of({.devices = {{1us, 2us, 5ms}, {1us, 2us}}, .chunks = 32, .reading = 2us});

    EXPECT_EQ(verdict.binding, Stage::read);
    EXPECT_EQ(verdict.steady, verdict.achieved);
}

}  // namespace
}  // namespace sluice
