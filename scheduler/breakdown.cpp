#include "scheduler/breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "scheduler/interval_set.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::pair<Stage, Interval ChunkSpans::*>, 5> device_stages{{
    {Stage::scatter, &ChunkSpans::scatter},
    {Stage::upload, &ChunkSpans::upload},
    {Stage::compute, &ChunkSpans::compute},
    {Stage::download, &ChunkSpans::download},
    {Stage::gather, &ChunkSpans::gather},
}};

std::string device_name(const RankTrace& trace, std::size_t device) {
    return fmt::format("device {} ({})", device, escaped(trace.devices[device].name()));
}

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
            for (const auto& [stage, member] : device_stages) {
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
                return backwards("host thread", thread.stage(), span.busy);
            }
        }
    }
    return {};
}

/// Gathers the intervals of a rank, cut to its run, by stage and by instance.
class Collector {
public:
    explicit Collector(const RankTrace& trace) : trace_(trace), run_{trace.milestones.start, trace.milestones.finish} {
        std::array<std::size_t, stage_count> threads{};
        for (const ThreadTrace& thread : trace.threads) {
            add_thread(thread, threads[index_of(thread.stage())]++);
            traced_by_threads_[index_of(thread.stage())] |= !thread.spans().empty();
        }
        for (std::size_t device = 0; device < trace.devices.size(); ++device) {
            for (const auto& [stage, member] : device_stages) {
                // A rank with threads of a stage knows the work itself; its devices' spans are waits for that work.
                if (!traced_by_threads_[index_of(stage)]) {
                    add_device(device, stage, member);
                }
            }
        }
    }

    Breakdown breakdown() && {
        result_.run = run_.end - run_.begin;
        std::array<IntervalSet, stage_count> active;
        for (const Stage stage : all_stages) {
            const std::size_t at = index_of(stage);
            active[at] = IntervalSet(std::move(intervals_[at]));
            StageTotals& totals = result_.stages[at];
            totals.active = active[at].length();
            totals.waiting = result_.run - totals.active;
        }
        IntervalSet taken;
        const auto take = [&taken](const IntervalSet& more) {
            const nanoseconds before = taken.length();
            taken = taken.united(more);
            return taken.length() - before;
        };
        for (const Stage stage : wall_order) {
            result_.wall.stages[index_of(stage)] = take(active[index_of(stage)]);
        }
        const Instant ready = trace_.milestones.devices_ready.value_or(run_.begin);
        result_.wall.startup = take(IntervalSet({clipped({run_.begin, std::max(ready, run_.begin)})}));
        result_.wall.waiting = result_.run - taken.length();
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

    void add_thread(const ThreadTrace& thread, std::size_t number) {
        InstanceTotals instance{.stage = thread.stage(),
                                .name = fmt::format("{} {}", to_string(thread.stage()), number)};
        std::vector<Interval> own;
        for (const ThreadSpan& span : thread.spans()) {
            add(thread.stage(), span.busy, span.items, own, instance);
            instance.bytes += span.bytes;
        }
        finish_instance(std::move(instance), std::move(own));
    }

    void add_device(std::size_t device, Stage stage, Interval ChunkSpans::*member) {
        InstanceTotals instance{.stage = stage, .name = device_name(trace_, device)};
        std::vector<Interval> own;
        for (const ChunkSpans& spans : trace_.devices[device].chunks()) {
            add(stage, spans.*member, spans.chunk.count, own, instance);
        }
        if (stage != Stage::scatter && stage != Stage::gather) {  // seen from here those two are waits, not work
            finish_instance(std::move(instance), std::move(own));
        }
    }

    void finish_instance(InstanceTotals instance, std::vector<Interval> own) {
        instance.busy = IntervalSet(std::move(own)).length();
        result_.instances.push_back(std::move(instance));
    }

    const RankTrace& trace_;
    Interval run_;
    std::array<bool, stage_count> traced_by_threads_{};
    std::array<std::vector<Interval>, stage_count> intervals_;
    Breakdown result_;
};

}  // namespace

nanoseconds WallView::total() const noexcept {
    return std::accumulate(stages.begin(), stages.end(), startup + waiting);
}

Breakdown break_down(const RankTrace& trace) {
    std::string invalid = why_invalid(trace);
    if (!invalid.empty()) {
        Breakdown withheld;
        withheld.invalid = std::move(invalid);
        return withheld;
    }
    return Collector(trace).breakdown();
}

}  // namespace sluice
