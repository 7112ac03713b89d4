#include "scheduler/steady_stretch.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t least_steady_chunks = 16;

/// Of the chunks around `at`, a sixteenth of all each way, the one that was waited for longest. Results arrive in
/// bursts: where both ends of a stretch lie at the start of one, it holds whole bursts and the waits before them.
std::size_t burst_near(std::span<const ThreadSpan> written, std::size_t at) {
    const std::size_t reach = written.size() / 16;
    const auto wait = [&](std::size_t i) { return written[i].busy.end - written[i - 1].busy.end; };
    std::size_t longest = at;
    for (std::size_t i = std::max<std::size_t>(1, at - std::min(at, reach)); i <= at + reach; ++i) {
        longest = wait(i) > wait(longest) ? i : longest;
    }
    return longest;
}

}  // namespace

std::optional<SteadyStretch> find_steady_stretch(const RankTrace& trace) {
    std::vector<ThreadSpan> written;
    for (const ThreadTrace& thread : trace.threads) {
        std::ranges::copy_if(thread.spans(), std::back_inserter(written),
                             [](const ThreadSpan& span) { return span.stage == Stage::write && span.items != 0; });
    }
    if (written.empty()) {
        return std::nullopt;
    }
    std::size_t first = 0;
    std::size_t last = written.size() - 1;
    Instant begin = written.front().busy.begin;
    if (written.size() >= least_steady_chunks) {
        const std::size_t before = burst_near(written, written.size() / 8 - 1);
        first = before + 1;
        last = burst_near(written, written.size() - 1 - written.size() / 8);
        begin = written[before].busy.end;
    } else {
        for (const DeviceTrace& device : trace.devices) {
            for (const ChunkSpans& spans : device.chunks()) {
                begin = spans.compute == Interval{} ? begin : std::min(begin, spans.compute.begin);
            }
        }
    }
    SteadyStretch steady;
    for (std::size_t i = first; i <= last; ++i) {
        steady.items += written[i].items;
    }
    steady.time = written[last].busy.end - begin;
    return steady;
}

std::optional<double> SteadyStretch::rate() const noexcept {
    return items == 0 || time.count() <= 0 ? std::nullopt
                                           : std::optional(static_cast<double>(items) / Seconds(time).count());
}

}  // namespace sluice
