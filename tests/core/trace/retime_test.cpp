#include "core/trace/trace.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Instant at(std::int64_t tick) {
    return Instant(std::chrono::nanoseconds(tick));
}

TEST(Retime, ChangesEachTimeOfATraceAndLeavesWhatDidNotHappen) {
    RankTrace trace;
    trace.milestones = {.start = at(1),
                        .buffers_ready = at(2),
                        .devices_ready = at(3),
                        .scatter_begin = at(4),
                        .scatter_end = {},
                        .first_compute = {at(5), std::nullopt},
                        .compute_end = at(6),
                        .delivered = at(7),
                        .finish = at(8)};
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {9, 90, 10},
                          .scatter = {at(10), at(11)},
                          .upload = {at(12), at(13)},
                          .compute = {at(14), at(15)},
                          .download = {},
                          .gather = {at(16), at(17)}});
    trace.threads.emplace_back("reader 0", 1);
    trace.threads[0].add({.busy = {at(18), at(19)}, .items = 10, .bytes = 20});
    trace.milestones.driver = Interval{at(20), at(21)};
    trace.phases = {{Phase::index, {at(22), at(23)}}};
    const auto later = [](Instant time) { return time + std::chrono::nanoseconds(1000); };

    retime(trace, later);

    const Milestones& moments = trace.milestones;
    EXPECT_EQ(moments.start, at(1001));
    EXPECT_EQ(moments.buffers_ready, at(1002));
    EXPECT_EQ(moments.devices_ready, at(1003));
    EXPECT_EQ(moments.scatter_begin, at(1004));
    EXPECT_EQ(moments.scatter_end, std::nullopt);
    EXPECT_EQ(moments.first_compute, (std::vector<std::optional<Instant>>{at(1005), std::nullopt}));
    EXPECT_EQ(moments.compute_end, at(1006));
    EXPECT_EQ(moments.delivered, at(1007));
    EXPECT_EQ(moments.finish, at(1008));
    const ChunkSpans& spans = trace.devices[0].chunks().front();
    EXPECT_EQ(spans.scatter, (Interval{at(1010), at(1011)}));
    EXPECT_EQ(spans.upload, (Interval{at(1012), at(1013)}));
    EXPECT_EQ(spans.compute, (Interval{at(1014), at(1015)}));
    EXPECT_EQ(spans.download, Interval{});
    EXPECT_EQ(spans.gather, (Interval{at(1016), at(1017)}));
    EXPECT_EQ(trace.threads[0].spans().front().busy, (Interval{at(1018), at(1019)}));
    EXPECT_EQ(trace.threads[0].spans().front().bytes, 20U);
    EXPECT_EQ(moments.driver, (Interval{at(1020), at(1021)}));
    EXPECT_EQ(trace.phases.front().time, (Interval{at(1022), at(1023)}));
}

}  // namespace
}  // namespace sluice
