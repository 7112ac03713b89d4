#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Instructions of the generator's kernels only.
namespace sluice::generator {

/// Loads 16 bytes; the compiler does not move it.
__device__ __forceinline__ uint4 load_16(const void* from) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

/// tanh x, with a relative error of about 2^-11.
__device__ __forceinline__ float tanh_about(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace sluice::generator
