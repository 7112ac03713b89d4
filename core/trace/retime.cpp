#include "core/trace/retime.hpp"

namespace sluice {
namespace {

using Retime = FunctionRef<Instant(Instant)>;

void retime(Interval& interval, Retime time) {
    if (interval != Interval{}) {
        interval = {time(interval.begin), time(interval.end)};
    }
}

void retime(std::optional<Instant>& moment, Retime time) {
    if (moment) {
        moment = time(*moment);
    }
}

void retime(Milestones& at, Retime time) {
    at.start = time(at.start);
    at.finish = time(at.finish);
    for (auto* const moment :
         {&at.buffers_ready, &at.devices_ready, &at.scatter_begin, &at.scatter_end, &at.compute_end, &at.delivered}) {
        retime(*moment, time);
    }
    if (at.driver) {
        retime(*at.driver, time);
    }
    for (std::optional<Instant>& moment : at.first_compute) {
        retime(moment, time);
    }
}

}  // namespace

void retime(RankTrace& trace, Retime time) {
    retime(trace.milestones, time);
    for (DeviceTrace& device : trace.devices) {
        device.rewrite([time](ChunkSpans& spans) {
            for (const auto& [stage, span] : chunk_stages) {
                retime(spans.*span, time);
            }
        });
    }
    for (ThreadTrace& thread : trace.threads) {
        thread.rewrite([time](ThreadSpan& span) { retime(span.busy, time); });
    }
    for (PhaseSpan& span : trace.phases) {
        retime(span.time, time);
    }
}

}  // namespace sluice
