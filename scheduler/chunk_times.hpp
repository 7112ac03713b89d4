#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"

namespace sluice {

/// Chunk times of one stage on one device or host thread. Nearest-rank percentiles: each is the time of some chunk.
struct ChunkTimes {
    Stage stage = Stage::compute;
    std::string name{};  ///< As InstanceTotals::name.
    std::uint64_t count = 0;
    std::chrono::nanoseconds p50{0};
    std::chrono::nanoseconds p90{0};
    std::chrono::nanoseconds p99{0};
    std::chrono::nanoseconds longest{0};
    friend bool operator==(const ChunkTimes&, const ChunkTimes&) = default;
};

/// One entry per device and stage and per thread that did any work. A device's scatter is the copy of a chunk's items,
/// or its wait for their message, and its gather the wait for the delivery of results.
[[nodiscard]] std::vector<ChunkTimes> chunk_times(const RankTrace& trace);

}  // namespace sluice
