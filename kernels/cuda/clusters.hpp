#pragma once

#include <cstdint>

namespace sluice {

/// What a launch of a kernel in clusters takes.
struct ClusterShape {
    std::uint32_t blocks;  ///< Of a cluster.
    std::uint32_t threads;
    std::uint32_t shared_bytes;
};

/// Clusters of the kernel that the current device runs at a time, one at least; lets the kernel have so much shared
/// memory. Throws ContractViolation when the device runs none, Error when CUDA fails.
[[nodiscard]] std::uint32_t count_clusters(const void* kernel, const ClusterShape& shape);

}  // namespace sluice
