#include "scheduler/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "core/error.hpp"
#include "scheduler/model_counts.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;
using Moment = RelativeMilestones::Moment;

Json from_duration(nanoseconds time) {
    return time.count();
}

nanoseconds to_duration(const Json& json) {
    return nanoseconds(json.get<std::int64_t>());
}

Json from_moment(const Moment& moment) {
    return moment ? from_duration(*moment) : Json(nullptr);
}

Moment to_moment(const Json& json) {
    return json.is_null() ? Moment() : Moment(to_duration(json));
}

Json from_milestones(const RelativeMilestones& milestones) {
    Json first_compute = Json::array();
    for (const Moment& moment : milestones.first_compute) {
        first_compute.push_back(from_moment(moment));
    }
    return Json::array(
        {from_duration(milestones.start), from_moment(milestones.buffers_ready), from_moment(milestones.devices_ready),
         from_moment(milestones.scatter_begin), from_moment(milestones.scatter_end), std::move(first_compute),
         from_moment(milestones.compute_end), from_moment(milestones.delivered), from_duration(milestones.finish),
         from_moment(milestones.driver_begin), from_moment(milestones.driver_ready), from_moment(milestones.written)});
}

RelativeMilestones to_milestones(const Json& json) {
    RelativeMilestones milestones{.start = to_duration(json.at(0)),
                                  .driver_begin = to_moment(json.at(9)),
                                  .driver_ready = to_moment(json.at(10)),
                                  .buffers_ready = to_moment(json.at(1)),
                                  .devices_ready = to_moment(json.at(2)),
                                  .scatter_begin = to_moment(json.at(3)),
                                  .scatter_end = to_moment(json.at(4)),
                                  .first_compute = {},
                                  .compute_end = to_moment(json.at(6)),
                                  .delivered = to_moment(json.at(7)),
                                  .written = to_moment(json.at(11)),
                                  .finish = to_duration(json.at(8))};
    for (const Json& moment : json.at(5)) {
        milestones.first_compute.push_back(to_moment(moment));
    }
    return milestones;
}

Json from_stretch(const std::optional<SteadyStretch>& stretch) {
    return stretch ? Json::array({stretch->items, from_duration(stretch->time), from_duration(stretch->busy)}) : Json();
}

std::optional<SteadyStretch> to_stretch(const Json& json) {
    return json.is_null() ? std::nullopt
                          : std::optional(SteadyStretch{.items = json.at(0).get<std::uint64_t>(),
                                                        .time = to_duration(json.at(1)),
                                                        .busy = to_duration(json.at(2))});
}

Json from_breakdown(const Breakdown& breakdown) {
    Json stages = Json::array();
    for (const Stage stage : all_stages) {
        const StageTotals& totals = breakdown.at(stage);
        stages.push_back(Json::array({from_duration(totals.busy), from_duration(totals.active),
                                      from_duration(totals.exposed), totals.chunks, totals.items}));
    }
    Json phases = Json::array();
    for (const nanoseconds time : breakdown.wall.phases) {
        phases.push_back(from_duration(time));
    }
    Json instances = Json::array();
    for (const InstanceTotals& instance : breakdown.instances) {
        instances.push_back(
            Json::array({index_of(instance.stage), instance.name, from_duration(instance.busy), instance.items,
                         instance.bytes, from_moment(instance.delayed), from_stretch(instance.steady)}));
    }
    return {{"run", from_duration(breakdown.run)},
            {"stages", std::move(stages)},
            {"phases", std::move(phases)},
            {"overlapped", from_duration(breakdown.wall.overlapped)},
            {"waiting", from_duration(breakdown.wall.waiting)},
            {"instances", std::move(instances)},
            {"receiving", from_duration(breakdown.receiving)},
            {"written", from_stretch(breakdown.written)},
            {"invalid", breakdown.invalid}};
}

Breakdown to_breakdown(const Json& json) {
    Breakdown breakdown;
    breakdown.run = to_duration(json.at("run"));
    for (const Stage stage : all_stages) {
        const Json& totals = json.at("stages").at(index_of(stage));
        breakdown.stages[index_of(stage)] = {.busy = to_duration(totals.at(0)),
                                             .active = to_duration(totals.at(1)),
                                             .exposed = to_duration(totals.at(2)),
                                             .chunks = totals.at(3).get<std::uint64_t>(),
                                             .items = totals.at(4).get<std::uint64_t>()};
        breakdown.wall.stages[index_of(stage)] = breakdown.stages[index_of(stage)].exposed;
    }
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
        breakdown.wall.phases[phase] = to_duration(json.at("phases").at(phase));
    }
    breakdown.wall.overlapped = to_duration(json.at("overlapped"));
    breakdown.wall.waiting = to_duration(json.at("waiting"));
    for (const Json& instance : json.at("instances")) {
        breakdown.instances.push_back({.stage = all_stages.at(instance.at(0).get<std::size_t>()),
                                       .name = instance.at(1).get<std::string>(),
                                       .busy = to_duration(instance.at(2)),
                                       .items = instance.at(3).get<std::uint64_t>(),
                                       .bytes = instance.at(4).get<std::uint64_t>(),
                                       .delayed = to_moment(instance.at(5)),
                                       .steady = to_stretch(instance.at(6))});
    }
    breakdown.receiving = to_duration(json.at("receiving"));
    breakdown.written = to_stretch(json.at("written"));
    breakdown.invalid = json.at("invalid").get<std::string>();
    return breakdown;
}

/// Flat, four numbers per chunk.
Json from_chunks(const std::vector<std::vector<ChunkDurations>>& devices) {
    Json json = Json::array();
    for (const std::vector<ChunkDurations>& chunks : devices) {
        Json& numbers = json.emplace_back(Json::array());
        for (const ChunkDurations& times : chunks) {
            numbers.push_back(times.items);
            for (const nanoseconds time : {times.upload, times.compute, times.download}) {
                numbers.push_back(from_duration(time));
            }
        }
    }
    return json;
}

std::vector<std::vector<ChunkDurations>> to_chunks(const Json& json) {
    std::vector<std::vector<ChunkDurations>> devices;
    for (const Json& numbers : json) {
        std::vector<ChunkDurations>& chunks = devices.emplace_back();
        for (std::size_t at = 0; at + 3 < numbers.size(); at += 4) {
            chunks.push_back({.items = numbers.at(at).get<std::uint32_t>(),
                              .upload = to_duration(numbers.at(at + 1)),
                              .compute = to_duration(numbers.at(at + 2)),
                              .download = to_duration(numbers.at(at + 3))});
        }
    }
    return devices;
}

std::vector<ChunkDurations> sampled_chunks(const DeviceTrace& device) {
    const std::span<const ChunkSpans> chunks = device.chunks();
    const std::size_t count = std::min(chunks.size(), most_sampled_chunks);
    std::vector<ChunkDurations> times;
    for (std::size_t i = 0; i < count; ++i) {
        const ChunkSpans& spans = chunks[i * chunks.size() / count];
        const auto length = [](const Interval& interval) { return interval.end - interval.begin; };
        times.push_back({.items = std::max(spans.chunk.count, 1U),
                         .upload = length(spans.upload),
                         .compute = length(spans.compute),
                         .download = length(spans.download)});
    }
    return times;
}

std::optional<Instant> last_written(const RankTrace& trace) {
    std::optional<Instant> last;
    for (const ThreadTrace& thread : trace.threads) {
        for (const ThreadSpan& span : thread.spans()) {
            if (span.stage == Stage::write || span.stage == Stage::commit) {
                last = last ? std::max(*last, span.busy.end) : span.busy.end;
            }
        }
    }
    return last;
}

/// Bounds are stored as bit patterns: JSON has no infinity.
Json from_certification(const std::optional<Certification>& certification) {
    if (!certification) {
        return nullptr;
    }
    const std::optional<double>& gap = certification->gap_bound;
    return Json::array({certification->recomputed, certification->recomputed_twice,
                        std::bit_cast<std::uint64_t>(certification->bound), certification->measure,
                        gap ? Json(std::bit_cast<std::uint64_t>(*gap)) : Json(nullptr),
                        certification->checked ? Json(*certification->checked) : Json(nullptr)});
}

std::optional<Certification> to_certification(const Json& json) {
    if (json.is_null()) {
        return std::nullopt;
    }
    return Certification{
        .checked = json.at(5).is_null() ? std::optional<std::uint64_t>() : json.at(5).get<std::uint64_t>(),
        .recomputed = json.at(0).get<std::uint64_t>(),
        .recomputed_twice = json.at(1).get<std::uint64_t>(),
        .bound = std::bit_cast<double>(json.at(2).get<std::uint64_t>()),
        .measure = json.at(3).get<Certification::Measure>(),
        .gap_bound =
            json.at(4).is_null() ? std::optional<double>() : std::bit_cast<double>(json.at(4).get<std::uint64_t>())};
}

Json from_clock(const RankClock& clock) {
    return Json::array({from_duration(clock.error), clock.drift, clock.messages, from_duration(clock.violation),
                        from_moment(clock.bound)});
}

RankClock to_clock(const Json& json) {
    return {.error = to_duration(json.at(0)),
            .drift = json.at(1).get<double>(),
            .messages = json.at(2).get<std::uint64_t>(),
            .violation = to_duration(json.at(3)),
            .bound = to_moment(json.at(4))};
}

}  // namespace

std::optional<Certification> together(const std::optional<Certification>& a, const std::optional<Certification>& b) {
    if (!a || !b) {
        return a ? a : b;
    }
    return Certification{.checked = a->checked && b->checked ? std::optional(*a->checked + *b->checked) : std::nullopt,
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
                                     .compute_end = moment(from.compute_end),
                                     .delivered = moment(from.delivered),
                                     .written = moment(last_written(trace)),
                                     .finish = since_start(from.finish)},
                      .breakdown = break_down(trace)};
    for (const std::optional<Instant>& instant : from.first_compute) {
        report.milestones.first_compute.push_back(moment(instant));
    }
    for (const DeviceTrace& device : trace.devices) {
        report.device_chunks.push_back(sampled_chunks(device));
        report.certification = together(report.certification, device.certification());
        add_counts(report.counts, device.counts());
    }
    report.facts.threads = trace.usage;
    report.facts.chunk_times = chunk_times(trace);
    return report;
}

std::string encode(const RankReport& report) {
    return Json{{"rank", report.rank},
                {"host", report.host},
                {"milestones", from_milestones(report.milestones)},
                {"breakdown", from_breakdown(report.breakdown)},
                {"device_chunks", from_chunks(report.device_chunks)},
                {"certification", from_certification(report.certification)},
                {"counts", to_json(std::span<const ModelCount>(report.counts))},
                {"clock", from_clock(report.clock)},
                {"facts", to_json(report.facts)}}
        .dump();
}

RankReport decode_rank_report(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        return {.rank = json.at("rank").get<int>(),
                .host = json.at("host").get<std::string>(),
                .milestones = to_milestones(json.at("milestones")),
                .breakdown = to_breakdown(json.at("breakdown")),
                .device_chunks = to_chunks(json.at("device_chunks")),
                .certification = to_certification(json.at("certification")),
                .counts = counts_from(json.at("counts")),
                .clock = to_clock(json.at("clock")),
                .facts = rank_details_from(json.at("facts"))};
    } catch (const Json::exception& error) {
        throw ContractViolation(fmt::format("a rank's report cannot be read: {}", escaped(error.what())));
    } catch (const std::out_of_range& error) {
        throw ContractViolation(fmt::format("a rank's report names an unknown stage: {}", escaped(error.what())));
    }
}

}  // namespace sluice
