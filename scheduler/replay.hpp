#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "scheduler/rank_report.hpp"

namespace sluice {

/// What a run's chunks went through, as far as it decides how long they take together. Times of the stages that serve
/// all devices are seconds per item, means of the run.
struct ReplayPlan {
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    std::uint32_t staged = 2;  ///< Chunks read ahead at most.
    std::uint32_t window = 2;  ///< Chunks whose results wait for an earlier chunk's.
    bool serial = false;       ///< A chunk is read when it is asked for, and the next one asked for when it is written.
    bool is_fixed = false;     ///< Chunks are dealt out beforehand, round robin.
    std::uint32_t readers = 1;
    double read = 0;     ///< Of one reader: read and parse.
    double scatter = 0;  ///< To any device.
    double gather = 0;   ///< From any device.
    double write = 0;    ///< Write and commit.

    struct Device {
        std::vector<ChunkDurations> chunks;  ///< Repeated as often as needed; at least one.
    };
    std::vector<Device> devices;  ///< At least one.
};

/// Seconds from the first chunk's read to the last one's commit: each stage serves chunks one after the other, a device
/// its three at once unless the plan is serial, a slot is taken from the request to the delivery, and a chunk is read,
/// or handed out, when there is room for it. Pure; O(chunks log slots).
[[nodiscard]] double replay(const ReplayPlan& plan);

}  // namespace sluice
