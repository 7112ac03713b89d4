#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Instructions of the generator's kernels only.
namespace sluice::generator {

/// Loads 16 bytes. The compiler does not move it, so that it is in flight while the tensor cores work.
__device__ __forceinline__ uint4 load_16(const void* from) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

}  // namespace sluice::generator
