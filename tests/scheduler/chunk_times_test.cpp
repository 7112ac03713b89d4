#include "scheduler/chunk_times.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/provenance.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

Interval lasting(std::int64_t ticks) {
    return {Instant(nanoseconds(1000)), Instant(nanoseconds(1000 + ticks))};
}

TEST(ChunkTimes, AreThoseOfChunksByTheNearestRank) {
    RankTrace trace;
    trace.devices.emplace_back("host", 200);
    for (std::int64_t i = 0; i < 200; ++i) {
        const std::int64_t shuffled = i * 37 % 200 + 1;  // 1 to 200
        trace.devices[0].add({.compute = lasting(shuffled * 10)});
    }

    const std::vector<ChunkTimes> times = chunk_times(trace);

    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0], (ChunkTimes{.stage = Stage::compute,
                                    .name = "device 0 (host)",
                                    .count = 200,
                                    .p50 = nanoseconds(1000),
                                    .p90 = nanoseconds(1800),
                                    .p99 = nanoseconds(1980),
                                    .longest = nanoseconds(2000)}));
}

TEST(ChunkTimes, AreOfEachDeviceStageAndThreadThatDidSomething) {
    RankTrace trace;
    trace.threads.emplace_back("reader 0", 1);
    trace.threads.emplace_back("reader 1", 1);
    trace.threads[1].add({.busy = lasting(7), .items = 1});
    trace.devices.emplace_back("host", 1);
    trace.devices.emplace_back("host", 1);
    trace.devices[1].add({.upload = lasting(3), .gather = lasting(5)});

    const std::vector<ChunkTimes> times = chunk_times(trace);

    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times[0].name, "reader 1");
    EXPECT_EQ(times[0].p50, nanoseconds(7));
    EXPECT_EQ(times[1].stage, Stage::upload);
    EXPECT_EQ(times[1].name, "device 1 (host)");
    EXPECT_EQ(times[2].stage, Stage::gather);
    EXPECT_EQ(times[2].longest, nanoseconds(5));
}

}  // namespace
}  // namespace sluice
