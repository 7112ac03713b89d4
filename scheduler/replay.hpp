#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/modes.hpp"
#include "scheduler/rank_report.hpp"

namespace sluice {

/// Inputs of a replay of a run's chunks. Times of the stages shared by all devices are the run's means in seconds per
/// item.
struct ReplayPlan {
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    std::uint32_t staged = 2;  ///< Most chunks read ahead.
    std::uint32_t window = 2;  ///< Most chunks whose results wait for an earlier chunk's.
    PipelineMode mode =
        PipelineMode::overlap;  ///< serial: a chunk is read on request, the next asked for once written.
    Distribution distribution = Distribution::pull;
    std::uint32_t readers = 1;
    double read = 0;                                   ///< Read and parse, by one reader.
    double scatter = 0;                                ///< As messages, to any device whose driver does not copy.
    double gather = 0;                                 ///< From any device.
    double write = 0;                                  ///< Write and commit.
    std::vector<std::vector<ChunkDurations>> devices;  ///< The chunks of each, repeated cyclically. At least one each.
};

/// Seconds from the first chunk's read to the last one's commit. Each stage serves one chunk at a time; a device
/// overlaps its three stages unless the mode is serial; a slot is occupied from request to delivery; a chunk is read,
/// or granted, once there is room; slow devices wait near the end (core/device/device_queues). Pure; O(chunks log
/// slots) but for those waits.
[[nodiscard]] double replay(const ReplayPlan& plan);

}  // namespace sluice
