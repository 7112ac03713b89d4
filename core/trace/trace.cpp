#include "core/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

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

void refuse_trace(std::size_t entries, std::size_t bytes) {
    constexpr double gibi = 1U << 30U;
    throw Error(ExitCode::out_of_memory,
                {.id = "E-MEM-068",
                 .where = "trace",
                 .what = fmt::format("cannot reserve {} entries, {:.1f} GiB: one or more a chunk", entries,
                                     static_cast<double>(entries) * static_cast<double>(bytes) / gibi),
                 .hint = "raise pipeline.chunk_items for fewer chunks, split the job, or raise `ulimit -v`"});
}

void ThreadTrace::add(const ThreadSpan& span, Stage last, std::chrono::nanoseconds late) {
    const Instant change = std::max(span.busy.begin, span.busy.end - late);
    ThreadSpan first = span;
    first.busy.end = change;
    if (change > span.busy.begin || late.count() == 0) {
        add(first);
    }
    if (late.count() != 0) {
        ThreadSpan second = span;
        second.stage = last;
        second.busy.begin = change;
        add(second);
    }
}

std::string_view to_string(Phase phase) noexcept {
    constexpr std::array<std::string_view, phase_count> names{"launch",   "job",     "index",  "weights", "tuning",
                                                              "output",   "place",   "driver", "load",    "devices",
                                                              "suspects", "publish", "finish"};
    return names[static_cast<std::size_t>(phase)];
}

void PhaseLog::add(Phase phase, const Interval& time) {
    const std::lock_guard lock(mutex_);
    spans_.push_back({phase, time});
}

std::vector<PhaseSpan> PhaseLog::spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
}

void PhaseTimer::stop() {
    if (log_ != nullptr) {
        std::exchange(log_, nullptr)->add(phase_, {begin_, Clock::now()});
    }
}

InnerWork& file_reads_of_thread() noexcept {
    thread_local InnerWork work;
    return work;
}

InnerWork& commits_of_thread() noexcept {
    thread_local InnerWork work;
    return work;
}

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
    for (Interval& interval : trace.suspended) {
        retime(interval, time);
    }
}

RankTrace without_suspensions(const RankTrace& trace) {
    RankTrace awake = trace;
    awake.suspended.clear();
    const auto time_awake = [&](Instant at) {
        Clock::duration before{0};
        for (const Interval& interval : trace.suspended) {
            before += std::clamp(at, interval.begin, interval.end) - interval.begin;
        }
        return at - before;
    };
    retime(awake, time_awake);
    return awake;
}

}  // namespace sluice
