#pragma once

#include "kernels/cuda/ordered/arithmetic.cuh"

namespace sluice::ordered {

/// The host's, bit for bit.
__device__ __forceinline__ float gelu_of(float x) {
    constexpr float root_2_per_pi = 0.79788456F;
    const float cube = __fmul_rn(__fmul_rn(__fmul_rn(x, x), x), 0.044715F);
    const float t = tanh_of(__fmul_rn(__fadd_rn(x, cube), root_2_per_pi));
    return __fmul_rn(__fmul_rn(x, 0.5F), __fadd_rn(t, 1.0F));
}

}  // namespace sluice::ordered
