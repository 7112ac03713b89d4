#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"

namespace sluice {

/// How long chunks took at one stage on one device or host thread. Percentiles by the nearest rank: each is the time of
/// some chunk.
struct ChunkTimes {
    Stage stage = Stage::compute;
    std::string name{};  ///< As InstanceTotals has it: "device 0 (host)", "reader 1".
    std::uint64_t count = 0;
    std::chrono::nanoseconds p50{0};
    std::chrono::nanoseconds p90{0};
    std::chrono::nanoseconds p99{0};
    std::chrono::nanoseconds longest{0};
    friend bool operator==(const ChunkTimes&, const ChunkTimes&) = default;
};

/// Of each device at each stage, and of each thread; without those that did nothing. On a device scatter and gather are
/// its waits for a chunk and for the delivery of results.
[[nodiscard]] std::vector<ChunkTimes> chunk_times(const RankTrace& trace);

}  // namespace sluice
