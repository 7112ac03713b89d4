#include "scheduler/breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "scheduler/interval_set.hpp"
#include "scheduler/steady_stretch.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

std::string backwards(const std::string& who, Stage stage, const Interval& interval) {
    return fmt::format("{}: {} ends {} ns before it begins", who, to_string(stage),
                       nanoseconds(interval.begin - interval.end).count());
}

std::string why_invalid(const RankTrace& trace) {
    const Milestones& milestones = trace.milestones;
    if (milestones.finish < milestones.start) {
        return fmt::format("finish is {} ns before start", nanoseconds(milestones.start - milestones.finish).count());
    }
    for (std::size_t device = 0; device < trace.devices.size(); ++device) {
        for (const ChunkSpans& spans : trace.devices[device].chunks()) {
            for (const auto& [stage, member] : chunk_stages) {
                if ((spans.*member).end < (spans.*member).begin) {
                    return backwards(fmt::format("{}, chunk {}", device_name(trace, device), spans.chunk.id), stage,
                                     spans.*member);
                }
            }
        }
    }
    for (const ThreadTrace& thread : trace.threads) {
        for (const ThreadSpan& span : thread.spans()) {
            if (span.busy.end < span.busy.begin) {
                return backwards(thread.name(), span.stage, span.busy);
            }
        }
    }
    for (const PhaseSpan& span : trace.phases) {
        if (span.time.end < span.time.begin) {
            return fmt::format("{} ends before it begins", to_string(span.phase));
        }
    }
    return {};
}

/// Bytes of an item that a device's stage moves.
std::uint64_t moved_per_item(Stage stage, IoShape item) {
    switch (stage) {
        case Stage::scatter:
        case Stage::upload:
            return item.input_bytes;
        case Stage::download:
        case Stage::gather:
            return item.output_bytes;
        default:
            return 0;
    }
}

/// What may be active at an instant: the stages, then the phases.
constexpr std::size_t source_count = stage_count + phase_count;

/// Assigns each instant of the run to one row of the wall view, and adds up each stage's exposed time.
class Sweep {
public:
    explicit Sweep(const Interval& run) : run_(run) {}

    void add(std::size_t source, const IntervalSet& times) {
        for (const Interval& time : times.intervals()) {
            edges_.push_back({time.begin, source, true});
            edges_.push_back({time.end, source, false});
        }
    }

    void fill(Breakdown& result) {
        std::ranges::sort(edges_, {}, &Edge::at);
        Instant before = run_.begin;
        for (const Edge& edge : edges_) {
            give(edge.at - before, result);
            before = edge.at;
            under_way_[edge.source] = edge.begins;
        }
        give(run_.end - before, result);
    }

private:
    struct Edge {
        Instant at;
        std::size_t source;
        bool begins;
    };

    void give(nanoseconds time, Breakdown& result) const {
        if (time.count() == 0) {
            return;
        }
        const auto stages = std::span(under_way_).first(stage_count);
        const auto phases = std::span(under_way_).subspan(stage_count);
        const auto stage = std::ranges::find(stages, true);
        if (stage != stages.end()) {
            const auto at = static_cast<std::size_t>(stage - stages.begin());
            const bool only = std::find(stage + 1, stages.end(), true) == stages.end();
            (only ? result.wall.stages[at] : result.wall.overlapped) += time;
            result.stages[at].exposed += only ? time : nanoseconds(0);
        } else if (const auto phase = std::ranges::find(phases, true); phase != phases.end()) {
            result.wall.phases[static_cast<std::size_t>(phase - phases.begin())] += time;
        } else {
            result.wall.waiting += time;
        }
    }

    Interval run_;
    std::vector<Edge> edges_;
    std::array<bool, source_count> under_way_{};
};

/// Collects a rank's intervals, clipped to its run, by stage and by instance.
class Collector {
public:
    explicit Collector(const RankTrace& trace) : trace_(trace), run_{trace.milestones.start, trace.milestones.finish} {
        std::array<bool, stage_count> traced{};
        for (const ThreadTrace& thread : trace.threads) {
            add_thread(thread);
            for (const ThreadSpan& span : thread.spans()) {
                traced[index_of(span.stage)] = true;
            }
        }
        for (std::size_t device = 0; device < trace.devices.size(); ++device) {
            for (const auto& [stage, member] : chunk_stages) {
                const bool is_by_comm_thread =
                    stage == Stage::gather || (stage == Stage::scatter && !trace.copies_items);
                if (!is_by_comm_thread || (trace.rank == 0 && !traced[index_of(stage)])) {
                    add_device(device, stage, member);
                }
            }
        }
        result_.written = find_written_stretch(trace);
        if (trace.rank != 0 && !trace.copies_items) {
            find_receiving();
        }
    }

    Breakdown breakdown() && {
        result_.run = run_.end - run_.begin;
        Sweep sweep(run_);
        for (const Stage stage : all_stages) {
            const IntervalSet active(std::move(intervals_[index_of(stage)]));
            result_.stages[index_of(stage)].active = active.length();
            sweep.add(index_of(stage), active);
        }
        std::array<std::vector<Interval>, phase_count> phases;
        for (const PhaseSpan& span : trace_.phases) {
            phases[static_cast<std::size_t>(span.phase)].push_back(clipped(span.time));
        }
        for (std::size_t phase = 0; phase < phase_count; ++phase) {
            sweep.add(stage_count + phase, IntervalSet(std::move(phases[phase])));
        }
        sweep.fill(result_);
        return std::move(result_);
    }

private:
    [[nodiscard]] Interval clipped(const Interval& interval) const {
        return {std::clamp(interval.begin, run_.begin, run_.end), std::clamp(interval.end, run_.begin, run_.end)};
    }

    void add(Stage stage, const Interval& interval, std::uint64_t items, std::vector<Interval>& of_instance,
             InstanceTotals& instance) {
        if (interval == Interval{}) {
            return;
        }
        const Interval inside = clipped(interval);
        StageTotals& totals = result_.stages[index_of(stage)];
        totals.busy += inside.end - inside.begin;
        totals.chunks += 1;
        totals.items += items;
        instance.items += items;
        of_instance.push_back(inside);
        intervals_[index_of(stage)].push_back(inside);
    }

    void add_thread(const ThreadTrace& thread) {
        std::map<Stage, std::pair<InstanceTotals, std::vector<Interval>>> stages;
        for (const ThreadSpan& span : thread.spans()) {
            auto& [instance, own] = stages[span.stage];
            instance.stage = span.stage;
            instance.name = thread.name();
            instance.delayed = thread.run_delay();
            instance.bytes += span.bytes;
            add(span.stage, span.busy, span.items, own, instance);
        }
        for (auto& [stage, totals] : stages) {
            finish_instance(std::move(totals.first), std::move(totals.second));
        }
    }

    void add_device(std::size_t device, Stage stage, Interval ChunkSpans::*member) {
        InstanceTotals instance{.stage = stage, .name = device_name(trace_, device), .of_device = true};
        if (stage == Stage::compute) {
            instance.delayed = trace_.devices[device].run_delay();
            instance.steady = find_steady_stretch(trace_.devices[device]);
        }
        std::vector<Interval> own;
        for (const ChunkSpans& spans : trace_.devices[device].chunks()) {
            add(stage, spans.*member, spans.chunk.count, own, instance);
        }
        instance.bytes = instance.items * moved_per_item(stage, trace_.devices[device].item());
        finish_instance(std::move(instance), std::move(own));
    }

    void finish_instance(InstanceTotals instance, std::vector<Interval> own) {
        instance.busy = IntervalSet(std::move(own)).length();
        result_.instances.push_back(std::move(instance));
    }

    void find_receiving() {
        std::vector<Interval> received;
        for (const DeviceTrace& device : trace_.devices) {
            for (const ChunkSpans& spans : device.chunks()) {
                received.push_back(clipped(spans.scatter));
            }
        }
        result_.receiving = IntervalSet(std::move(received)).length();
    }

    const RankTrace& trace_;
    Interval run_;
    std::array<std::vector<Interval>, stage_count> intervals_;
    Breakdown result_;
};

}  // namespace

std::string device_name(const RankTrace& trace, std::size_t device) {
    return fmt::format("device {} ({})", device, escaped(trace.devices[device].name()));
}

nanoseconds WallView::total() const noexcept {
    return std::accumulate(stages.begin(), stages.end(), nanoseconds(0)) +
           std::accumulate(phases.begin(), phases.end(), overlapped + waiting + suspended);
}

Breakdown break_down(const RankTrace& trace) {
    std::string invalid = why_invalid(trace);
    if (!invalid.empty()) {
        Breakdown withheld;
        withheld.invalid = std::move(invalid);
        return withheld;
    }
    if (trace.suspended.empty()) {
        return Collector(trace).breakdown();
    }
    Breakdown result = Collector(without_suspensions(trace)).breakdown();
    const nanoseconds whole = trace.milestones.finish - trace.milestones.start;
    result.wall.suspended = whole - result.run;
    result.run = whole;
    return result;
}

}  // namespace sluice
