#include "scheduler/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "core/json_types.hpp"
#include "scheduler/steady_stretch.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using Moment = RelativeMilestones::Moment;

std::vector<ChunkDurations> sampled_chunks(const DeviceTrace& device, bool copies_items) {
    const std::span<const ChunkSpans> chunks = device.chunks();
    const std::size_t count = std::min(chunks.size(), most_sampled_chunks);
    std::vector<ChunkDurations> times;
    for (std::size_t i = 0; i < count; ++i) {
        const ChunkSpans& spans = chunks[i * chunks.size() / count];
        const auto length = [](const Interval& interval) { return interval.end - interval.begin; };
        times.push_back({.items = std::max(spans.chunk.count, 1U),
                         .copy = copies_items ? std::optional(length(spans.scatter)) : std::nullopt,
                         .upload = length(spans.upload),
                         .compute = length(spans.compute),
                         .download = length(spans.download)});
    }
    return times;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RelativeMilestones, start, driver_begin, driver_ready, buffers_ready, devices_ready,
                                   scatter_begin, scatter_end, first_compute, last_compute, compute_end, delivered,
                                   written, finish)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RelativeInterval, begin, end)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SteadyStretch, items, time, busy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageTotals, busy, active, exposed, chunks, items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(InstanceTotals, stage, name, busy, items, of_device, bytes, delayed, steady)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WallView, stages, overlapped, phases, waiting, suspended)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Breakdown, run, stages, wall, instances, receiving, written, invalid)

/// Without names: there are hundreds for each device.
void to_json(nlohmann::json& to, const ChunkDurations& from) {
    to = {from.items, from.copy, from.upload, from.compute, from.download};
}

void from_json(const nlohmann::json& from, ChunkDurations& to) {
    to = {.items = from.at(0),
          .copy = from.at(1).get<std::optional<nanoseconds>>(),
          .upload = from.at(2),
          .compute = from.at(3),
          .download = from.at(4)};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CertificationChecks, checked, corrected)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Certification, checks, recomputed, recomputed_twice, bound, measure, gap_bound)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelCount, name, value, beside)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankClock, error, drift, messages, violation, bound)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CpuThrottling, periods, throttled, time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuClock, least, mean, most)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuUse, gpu, samples, time, clock_mhz, watts, joules, joules_are_counted,
                                   limit_shares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuUses, gpus, note)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ThreadUsage, name, wall, cpu, waits, preemptions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ChunkTimes, stage, name, count, p50, p90, p99, longest)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankDetails, cpu, gpus, driver, throttling, gpu_uses, threads, chunk_times)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, rank, host, milestones, breakdown, device_chunks, certification, counts,
                                   clock, facts, suspended)

nanoseconds suspended_between(const RankReport& rank, nanoseconds from, nanoseconds to) {
    nanoseconds sum{0};
    for (const RelativeInterval& interval : rank.suspended) {
        sum += std::max(nanoseconds(0), std::min(interval.end, to) - std::max(interval.begin, from));
    }
    return sum;
}

void add_counts(std::vector<ModelCount>& all, std::span<const ModelCount> more) {
    for (const ModelCount& count : more) {
        const auto same = std::ranges::find(all, count.name, &ModelCount::name);
        if (same == all.end()) {
            all.push_back(count);
        } else {
            same->value += count.value;
        }
    }
}

std::optional<Certification> together(const std::optional<Certification>& a, const std::optional<Certification>& b) {
    if (!a || !b) {
        return a ? a : b;
    }
    std::optional<CertificationChecks> checks;
    if (a->checks && b->checks) {
        checks = {.checked = a->checks->checked + b->checks->checked,
                  .corrected = a->checks->corrected + b->checks->corrected};
    }
    return Certification{.checks = checks,
                         .recomputed = a->recomputed + b->recomputed,
                         .recomputed_twice = a->recomputed_twice + b->recomputed_twice,
                         .bound = std::max(a->bound, b->bound),
                         .measure = a->measure,
                         .gap_bound = std::max(a->gap_bound, b->gap_bound)};
}

RankReport make_rank_report(const RankTrace& trace, Instant common_start, nanoseconds clock_offset) {
    const auto since_start = [&](Instant instant) -> nanoseconds { return instant + clock_offset - common_start; };
    const auto moment = [&](const std::optional<Instant>& instant) {
        return instant ? Moment(since_start(*instant)) : Moment();
    };
    const Milestones& from = trace.milestones;
    RankReport report{.rank = trace.rank,
                      .host = escaped(trace.host),
                      .milestones = {.start = since_start(from.start),
                                     .driver_begin = from.driver ? moment(from.driver->begin) : Moment(),
                                     .driver_ready = from.driver ? moment(from.driver->end) : Moment(),
                                     .buffers_ready = moment(from.buffers_ready),
                                     .devices_ready = moment(from.devices_ready),
                                     .scatter_begin = moment(from.scatter_begin),
                                     .scatter_end = moment(from.scatter_end),
                                     .first_compute = {},
                                     .last_compute = {},
                                     .compute_end = moment(from.compute_end),
                                     .delivered = moment(from.delivered),
                                     .written = moment(last_written(trace)),
                                     .finish = since_start(from.finish)},
                      .breakdown = break_down(trace)};
    for (const std::optional<Instant>& instant : from.first_compute) {
        report.milestones.first_compute.push_back(moment(instant));
    }
    for (const DeviceTrace& device : trace.devices) {
        std::optional<Instant> last;
        for (const ChunkSpans& spans : device.chunks()) {
            last = spans.compute == Interval{} ? last : std::max(last, std::optional(spans.compute.end));
        }
        report.milestones.last_compute.push_back(moment(last));
    }
    for (const Interval& interval : trace.suspended) {
        report.suspended.push_back({since_start(interval.begin), since_start(interval.end)});
    }
    const std::optional<RankTrace> copy =
        trace.suspended.empty() ? std::nullopt : std::optional(without_suspensions(trace));
    const RankTrace& awake = copy ? *copy : trace;
    for (const DeviceTrace& device : awake.devices) {
        report.device_chunks.push_back(sampled_chunks(device, trace.copies_items));
        report.certification = together(report.certification, device.certification());
        add_counts(report.counts, device.counts());
    }
    report.facts.threads = trace.usage;
    report.facts.chunk_times = chunk_times(awake);
    return report;
}

void count_receipts(std::span<RankReport> ranks, std::span<LinkTraffic> links) {
    if (ranks.empty()) {
        return;
    }
    std::chrono::nanoseconds longest{0};
    for (const RankReport& rank : ranks.subspan(1)) {
        longest = std::max(longest, rank.breakdown.receiving);
        for (LinkTraffic& link : links) {
            if (link.rank == rank.rank) {
                link.sending = std::max(link.sending, rank.breakdown.receiving);
            }
        }
    }
    Breakdown& root = ranks.front().breakdown;
    for (InstanceTotals& instance : root.instances) {
        if (instance.stage == Stage::scatter && !instance.of_device) {
            instance.busy = std::max(instance.busy, std::min(longest, root.run));
        }
    }
}

std::string encode(const RankReport& report) {
    return packed(report);
}

RankReport decode_rank_report(std::string_view text) {
    try {
        RankReport report = unpacked<RankReport>(text);
        const auto is_known = [](const auto& totals) { return index_of(totals.stage) < stage_count; };
        expects(std::ranges::all_of(report.breakdown.instances, is_known) &&
                    std::ranges::all_of(report.facts.chunk_times, is_known),
                "a rank's report names stages that there are");
        return report;
    } catch (const nlohmann::json::exception& error) {
        throw ContractViolation(fmt::format("a rank's report cannot be read: {}", escaped(error.what())));
    }
}

}  // namespace sluice
