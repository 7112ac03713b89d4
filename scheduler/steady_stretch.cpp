#include "scheduler/steady_stretch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/interval_set.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t least_steady_chunks = 16;
constexpr std::size_t end_share = 8;  // 1 / this of the chunks is left out at each end

/// Time of `items` by the least-squares line of time over items: results come in bursts, so the distance of two single
/// writes may be off by a burst.
nanoseconds fitted_time(std::span<const ThreadSpan> written, std::uint64_t items) {
    std::vector<std::pair<double, double>> points;  // items up to here, nanoseconds since the first chunk's end
    double done = 0;
    for (const ThreadSpan& span : written) {
        done += static_cast<double>(span.items);
        points.emplace_back(done, static_cast<double>(nanoseconds(span.busy.end - written.front().busy.end).count()));
    }
    double mean_items = 0;
    double mean_time = 0;
    for (const auto& [x, y] : points) {
        mean_items += x / static_cast<double>(points.size());
        mean_time += y / static_cast<double>(points.size());
    }
    double both = 0;
    double spread = 0;
    for (const auto& [x, y] : points) {
        both += (x - mean_items) * (y - mean_time);
        spread += (x - mean_items) * (x - mean_items);
    }
    return nanoseconds(std::llround(both / spread * static_cast<double>(items)));
}

std::uint64_t items_of(std::span<const ThreadSpan> spans) {
    std::uint64_t items = 0;
    for (const ThreadSpan& span : spans) {
        items += span.items;
    }
    return items;
}

}  // namespace

std::optional<SteadyStretch> find_steady_stretch(const DeviceTrace& device) {
    std::vector<const ChunkSpans*> computed;
    std::vector<Interval> busy;
    for (const ChunkSpans& spans : device.chunks()) {
        if (spans.compute != Interval{}) {
            computed.push_back(&spans);
            busy.push_back(spans.compute);
        }
    }
    const std::size_t left_out = computed.size() / end_share;
    if (computed.size() < 2) {
        return std::nullopt;
    }
    const Interval stretch{computed[left_out]->compute.end, computed[computed.size() - 1 - left_out]->compute.end};
    if (stretch.end <= stretch.begin) {
        return std::nullopt;
    }
    SteadyStretch steady{.time = stretch.end - stretch.begin};
    for (std::size_t i = left_out + 1; i < computed.size() - left_out; ++i) {
        steady.items += computed[i]->chunk.count;
    }
    for (Interval& interval : busy) {
        interval = {std::clamp(interval.begin, stretch.begin, stretch.end),
                    std::clamp(interval.end, stretch.begin, stretch.end)};
    }
    steady.busy = IntervalSet(std::move(busy)).length();
    return steady;
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

std::optional<SteadyStretch> find_written_stretch(const RankTrace& trace) {
    std::vector<ThreadSpan> written;
    for (const ThreadTrace& thread : trace.threads) {
        std::ranges::copy_if(thread.spans(), std::back_inserter(written),
                             [](const ThreadSpan& span) { return span.stage == Stage::write; });
    }
    if (written.empty()) {
        return std::nullopt;
    }
    if (written.size() >= least_steady_chunks) {
        const std::size_t end = written.size() / end_share;
        const auto middle = std::span(written).subspan(end - 1, written.size() - 2 * end + 1);
        const std::uint64_t items = items_of(middle.subspan(1));
        return SteadyStretch{.items = items, .time = fitted_time(middle, items)};
    }
    Instant begin = written.front().busy.begin;
    for (const DeviceTrace& device : trace.devices) {
        for (const ChunkSpans& spans : device.chunks()) {
            begin = spans.compute == Interval{} ? begin : std::min(begin, spans.compute.begin);
        }
    }
    return SteadyStretch{.items = items_of(written), .time = *last_written(trace) - begin};
}

std::optional<double> SteadyStretch::rate() const noexcept {
    return items == 0 || time.count() <= 0 ? std::nullopt
                                           : std::optional(static_cast<double>(items) / Seconds(time).count());
}

}  // namespace sluice
