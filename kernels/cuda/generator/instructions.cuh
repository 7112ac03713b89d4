#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Instructions that only a generator's kernels use.
namespace sluice::generator {

/// Four bytes to shared memory, asynchronously: what lies beside each other in a row may come to lie rows apart.
__device__ __forceinline__ void copy_float(std::uint32_t to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/// tanh x, to about 2^-11 of it.
__device__ __forceinline__ float tanh_about(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace sluice::generator
