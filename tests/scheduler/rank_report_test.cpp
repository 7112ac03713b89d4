#include "scheduler/rank_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Instant instant(std::int64_t tick) {
    return Instant(std::chrono::nanoseconds(tick));
}

RankTrace busy_trace() {
    RankTrace trace;
    trace.rank = 3;
    trace.host = "n07";
    trace.milestones = {.start = instant(1000),
                        .driver = Interval{instant(1010), instant(1060)},
                        .buffers_ready = instant(1100),
                        .devices_ready = instant(1200),
                        .scatter_begin = instant(1300),
                        .scatter_end = {},
                        .first_compute = {instant(1400), std::nullopt},
                        .compute_end = instant(1500),
                        .delivered = instant(1600),
                        .finish = instant(2000)};
    trace.devices.emplace_back("host", 1);
    trace.devices[0].add({.chunk = {9, 90, 10},
                          .upload = {instant(1300), instant(1350)},
                          .compute = {instant(1400), instant(1500)},
                          .gather = {instant(1500), instant(1600)}});
    trace.devices.emplace_back("host", 1);
    trace.devices[0].set_run_delay(7ns);
    trace.phases.push_back({Phase::index, {instant(1000), instant(1100)}});
    trace.threads.emplace_back("writer", 1);
    trace.threads[0].add({.stage = Stage::write, .busy = {instant(1600), instant(1700)}, .items = 10});
    trace.threads.emplace_back("reader 0", 1);
    trace.threads[1].add(
        {.busy = {instant(1000), instant(1010)}, .items = 10, .bytes = std::numeric_limits<std::uint64_t>::max()});
    return trace;
}

TEST(RankReport, LeavesSuspensionsOutOfChunksTimesAndSaysWhenTheyWere) {
    RankTrace trace = busy_trace();
    trace.suspended = {{instant(1410), instant(1480)}};

    const RankReport report = make_rank_report(trace, instant(1000), 0ns);

    EXPECT_EQ(report.device_chunks.at(0).at(0).compute, 30ns);
    EXPECT_THAT(report.facts.chunk_times,
                testing::Contains(testing::AllOf(testing::Field(&ChunkTimes::stage, Stage::compute),
                                                 testing::Field(&ChunkTimes::longest, 30ns))));
    EXPECT_EQ(report.milestones.compute_end, 500ns) << "milestones are as they were";
    EXPECT_EQ(suspended_between(report, 0ns, 1000ns), 70ns);
    EXPECT_EQ(suspended_between(report, 450ns, 460ns), 10ns);
    EXPECT_EQ(suspended_between(report, 500ns, 400ns), 0ns);
    EXPECT_EQ(decode_rank_report(encode(report)), report);
}

TEST(RankReport, CountsTimeFromTheCommonStartOnRankZerosClock) {
    const RankReport report = make_rank_report(busy_trace(), instant(5000), 4100ns);

    EXPECT_EQ(report.milestones.start, 100ns);
    EXPECT_EQ(report.milestones.driver_begin, 110ns);
    EXPECT_EQ(report.milestones.driver_ready, 160ns);
    EXPECT_EQ(report.milestones.driver_time(), 50ns);
    EXPECT_EQ(report.milestones.buffers_ready, 200ns);
    EXPECT_EQ(report.milestones.scatter_end, std::nullopt);
    EXPECT_EQ(report.milestones.first_compute.at(0), 500ns);
    EXPECT_EQ(report.milestones.first_compute.at(1), std::nullopt);
    EXPECT_EQ(report.milestones.last_compute, (std::vector<RelativeMilestones::Moment>{600ns, std::nullopt}));
    EXPECT_EQ(report.milestones.finish, 1100ns);
    EXPECT_EQ(report.milestones.written, 800ns);
    EXPECT_EQ(report.breakdown.run, 1000ns);
    ASSERT_EQ(report.device_chunks.size(), 2U);
    EXPECT_EQ(report.device_chunks[0], (std::vector{ChunkDurations{.items = 10, .upload = 50ns, .compute = 100ns}}));
    EXPECT_TRUE(report.device_chunks[1].empty());
}

TEST(RankReport, KeepsHowLongItsDriversCopied) {
    RankTrace trace = busy_trace();
    trace.copies_items = true;
    trace.devices[1].add({.chunk = {10, 100, 10}, .scatter = {instant(1300), instant(1340)}});

    const RankReport report = make_rank_report(trace, instant(5000), 0ns);

    EXPECT_EQ(report.device_chunks.at(1), (std::vector{ChunkDurations{.items = 10, .copy = 40ns}}));
    EXPECT_EQ(decode_rank_report(encode(report)), report);
    trace.copies_items = false;
    EXPECT_EQ(make_rank_report(trace, instant(5000), 0ns).device_chunks.at(1),
              (std::vector{ChunkDurations{.items = 10}}));
}

TEST(RankReport, SamplesTheChunksOfALongRunEvenly) {
    RankTrace trace = busy_trace();
    DeviceTrace& device = trace.devices.emplace_back("host", 10'000);
    for (std::uint64_t chunk = 0; chunk < 10'000; ++chunk) {
        device.add(
            {.chunk = {chunk, chunk * 3, 3}, .compute = {instant(0), instant(static_cast<std::int64_t>(chunk))}});
    }

    const std::vector<ChunkDurations> sample = make_rank_report(trace, instant(5000), 0ns).device_chunks.back();

    ASSERT_EQ(sample.size(), most_sampled_chunks);
    EXPECT_EQ(sample.front().compute, 0ns);
    EXPECT_NEAR(static_cast<double>(sample[sample.size() / 2].compute.count()), 5000, 50);
    EXPECT_GT(sample.back().compute, 9900ns);
}

TEST(RankReport, KeepsAStartBeforeTheCommonOneNegative) {
    EXPECT_EQ(make_rank_report(busy_trace(), instant(1003), 0ns).milestones.start, -3ns);
}

TEST(RankReport, ArrivesAsItWasSent) {
    RankTrace trace = busy_trace();
    DeviceTrace& device = trace.devices.emplace_back("host", 2);
    device.add({.chunk = {0, 0, 5}, .compute = {instant(1400), instant(1450)}});
    device.add({.chunk = {1, 5, 4}, .compute = {instant(1460), instant(1500)}});

    const RankReport sent = make_rank_report(trace, instant(1000), -7ns);

    ASSERT_THAT(sent.breakdown.instances,
                testing::Contains(
                    testing::Field(&InstanceTotals::steady, SteadyStretch{.items = 4, .time = 50ns, .busy = 40ns})));
    EXPECT_EQ(decode_rank_report(encode(sent)), sent);
}

TEST(RankReport, ArrivesWithWhatIsKnownOfItsHardware) {
    RankReport sent = make_rank_report(busy_trace(), instant(1000), 0ns);
    sent.clock = {.error = 12ns, .drift = 1e-17 / 3, .messages = 5, .violation = 1ns, .bound = 40ns};
    sent.facts = {.cpu = "a",
                  .gpus = {"b"},
                  .driver = "580.65.06",
                  .throttling = CpuThrottling{.periods = 40, .throttled = 9, .time = 1500us},
                  .gpu_uses = {.gpus = {{.gpu = "GPU-a",
                                         .samples = 9,
                                         .time = 9s,
                                         .clock_mhz = GpuClock{.least = 1400, .mean = 1500.25, .most = 1600},
                                         .watts = 400.125,
                                         .joules = 4000,
                                         .joules_are_counted = true,
                                         .limit_shares = {0.5, 1}},
                                        {.gpu = "GPU-b", .samples = 3, .time = 2s}},
                               .note = "x"},
                  .threads = {{.name = "c", .wall = 3ns, .cpu = 2ns, .waits = 1, .preemptions = 4}},
                  .chunk_times = sent.facts.chunk_times};
    ASSERT_FALSE(sent.facts.chunk_times.empty());

    EXPECT_EQ(decode_rank_report(encode(sent)), sent);
}

TEST(RankReport, AddsUpWhatItsDevicesComputedAgain) {
    RankTrace trace = busy_trace();
    EXPECT_EQ(make_rank_report(trace, instant(1000), 0ns).certification, std::nullopt);
    trace.devices[0].set_certification({.checks = CertificationChecks{.checked = 20, .corrected = 4},
                                        .recomputed = 7,
                                        .recomputed_twice = 2,
                                        .bound = 0.1,
                                        .measure = Certification::Measure::draw});
    trace.devices[1].set_certification({.checks = CertificationChecks{.checked = 30, .corrected = 1},
                                        .recomputed = 5,
                                        .recomputed_twice = 1,
                                        .bound = std::numeric_limits<double>::infinity(),
                                        .measure = Certification::Measure::draw,
                                        .gap_bound = 0.25});

    const RankReport sent = make_rank_report(trace, instant(1000), 0ns);

    EXPECT_EQ(sent.certification, (Certification{.checks = CertificationChecks{.checked = 50, .corrected = 5},
                                                 .recomputed = 12,
                                                 .recomputed_twice = 3,
                                                 .bound = std::numeric_limits<double>::infinity(),
                                                 .measure = Certification::Measure::draw,
                                                 .gap_bound = 0.25}));
    EXPECT_EQ(decode_rank_report(encode(sent)), sent);
}

TEST(RankReport, AddsUpWhatItsDevicesCounted) {
    RankTrace trace = busy_trace();
    EXPECT_TRUE(make_rank_report(trace, instant(1000), 0ns).counts.empty());
    const ModelCount ended{.name = "ended", .value = 3, .beside = ModelCount::Beside::share_of_items};
    trace.devices[0].set_counts({{.name = "names", .value = 7}, ended});
    trace.devices[1].set_counts({{.name = "names", .value = 5}, ended});

    const RankReport sent = make_rank_report(trace, instant(1000), 0ns);

    EXPECT_EQ(sent.counts,
              (std::vector<ModelCount>{{.name = "names", .value = 12},
                                       {.name = "ended", .value = 6, .beside = ModelCount::Beside::share_of_items}}));
    EXPECT_EQ(decode_rank_report(encode(sent)), sent);
}

TEST(RankReport, ArrivesWithTheReasonWhenItsTimersAreInvalid) {
    RankTrace trace = busy_trace();
    trace.milestones.finish = instant(1);
    const RankReport sent = make_rank_report(trace, instant(1000), 0ns);

    const RankReport arrived = decode_rank_report(encode(sent));

    EXPECT_EQ(arrived, sent);
    EXPECT_EQ(arrived.breakdown.invalid, "finish is 999 ns before start");
}

TEST(RankReport, EscapesAHostNameThatIsNoText) {
    RankTrace trace = busy_trace();
    trace.host = "n\xff\n01";

    const RankReport sent = make_rank_report(trace, instant(1000), 0ns);

    EXPECT_EQ(sent.host, "n\\xff\\x0a01");
    EXPECT_EQ(decode_rank_report(encode(sent)), sent);
}

TEST(RankReport, RefusesWhatNoRankSends) {
    RankReport report = make_rank_report(busy_trace(), instant(1000), 0ns);
    const std::string good = encode(report);
    report.breakdown.instances.at(0).stage = static_cast<Stage>(stage_count);
    const std::string unknown_stage = encode(report);

    EXPECT_THROW((void)decode_rank_report(""), ContractViolation);
    EXPECT_THROW((void)decode_rank_report("\xa0"), ContractViolation);  // {}
    EXPECT_THROW((void)decode_rank_report("\x80"), ContractViolation);  // []
    EXPECT_THROW((void)decode_rank_report(good.substr(0, good.size() / 2)), ContractViolation);
    EXPECT_THROW((void)decode_rank_report(good + '\0'), ContractViolation);
    EXPECT_THROW((void)decode_rank_report(unknown_stage), ContractViolation);
}

}  // namespace
}  // namespace sluice
