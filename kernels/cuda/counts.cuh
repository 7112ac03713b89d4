#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sluice {

/// Adds to a count in device memory, atomically; leaves the memory alone if there is nothing to add.
__device__ __forceinline__ void add_count(std::uint64_t& to, std::uint64_t count) {
    if (count != 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(count));
    }
}

}  // namespace sluice
