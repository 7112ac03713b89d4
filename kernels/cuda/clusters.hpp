#pragma once

#include <cstdint>

namespace sluice {

/// Launch shape of a kernel in clusters.
struct ClusterShape {
    std::uint32_t blocks;  ///< Per cluster.
    std::uint32_t threads;
    std::uint32_t shared_bytes;
};

/// Number of the kernel's clusters that the current device runs at a time, at least one; raises the kernel's limit of
/// dynamic shared memory to shape.shared_bytes. Throws ContractViolation if the device runs none, Error if CUDA fails.
[[nodiscard]] std::uint32_t count_clusters(const void* kernel, const ClusterShape& shape);

}  // namespace sluice
