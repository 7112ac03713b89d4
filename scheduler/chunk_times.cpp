#include "scheduler/chunk_times.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "scheduler/breakdown.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

void add_times(std::vector<ChunkTimes>& all, Stage stage, std::string name, std::vector<nanoseconds> lengths) {
    if (lengths.empty()) {
        return;
    }
    std::ranges::sort(lengths);
    const auto at = [&](std::size_t percent) { return lengths[(lengths.size() * percent + 99) / 100 - 1]; };
    all.push_back({.stage = stage,
                   .name = std::move(name),
                   .count = lengths.size(),
                   .p50 = at(50),
                   .p90 = at(90),
                   .p99 = at(99),
                   .longest = lengths.back()});
}

}  // namespace

std::vector<ChunkTimes> chunk_times(const RankTrace& trace) {
    std::vector<ChunkTimes> all;
    for (const ThreadTrace& thread : trace.threads) {
        std::array<std::vector<nanoseconds>, stage_count> lengths;
        for (const ThreadSpan& span : thread.spans()) {
            lengths[index_of(span.stage)].push_back(span.busy.end - span.busy.begin);
        }
        for (const Stage stage : all_stages) {
            add_times(all, stage, thread.name(), std::move(lengths[index_of(stage)]));
        }
    }
    for (std::size_t device = 0; device < trace.devices.size(); ++device) {
        for (const auto& [stage, member] : chunk_stages) {
            std::vector<nanoseconds> lengths;
            for (const ChunkSpans& spans : trace.devices[device].chunks()) {
                if (spans.*member != Interval{}) {
                    lengths.push_back((spans.*member).end - (spans.*member).begin);
                }
            }
            add_times(all, stage, device_name(trace, device), std::move(lengths));
        }
    }
    return all;
}

}  // namespace sluice
