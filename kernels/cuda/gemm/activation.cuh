#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/ptx.cuh"

/// Activations of a product's sums.
namespace sluice::gemm {

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x / (1 + exp(-2 ...)): no cancellation below zero.
__device__ __forceinline__ float gelu_tanh(float x) {
    constexpr float minus_two_root_log2e = -2.0F * 0.7978845608F * 1.4426950409F;
    const float square = x * x;
    const float inner = x * fmaf(minus_two_root_log2e * 0.044715F, square, minus_two_root_log2e);
    return x * ptx::reciprocal_about(1.0F + ptx::exp2_about(inner));
}

/// 0.5 x (1 + erf(x / sqrt(2))).
__device__ __forceinline__ float gelu_erf(float x) {
    constexpr float root_half = 0.7071067812F;
    const float half = 0.5F * x;
    return fmaf(half, erff(x * root_half), half);
}

template <std::uint32_t count>
__device__ __forceinline__ void activate(float (&values)[count], Activation activation) {
    switch (activation) {
        case Activation::none:
            break;
        case Activation::relu:
#pragma unroll
            for (float& value : values) {
                value = fmaxf(value, 0.0F);
            }
            break;
        case Activation::gelu_tanh:
#pragma unroll
            for (float& value : values) {
                value = gelu_tanh(value);
            }
            break;
        case Activation::gelu_erf:
#pragma unroll
            for (float& value : values) {
                value = gelu_erf(value);
            }
            break;
    }
}

}  // namespace sluice::gemm
