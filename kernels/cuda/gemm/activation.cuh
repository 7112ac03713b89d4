#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

/// Activations of a product's sums.
namespace sluice::gemm {

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x / (1 + exp(-2 ...)): no cancellation below zero.
__device__ __forceinline__ float gelu_tanh(float x) {
    constexpr float minus_two_root_log2e = -2.0F * 0.7978845608F * 1.4426950409F;
    const float square = x * x;
    const float inner = x * fmaf(minus_two_root_log2e * 0.044715F, square, minus_two_root_log2e);
    return x * ptx::reciprocal_about(1.0F + ptx::exp2_about(inner));
}

/// 0.5 x (1 + erf(x / sqrt(2))), within 1.1e-7 |x|, as max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2: no cancellation below
/// zero. log2(erfc(|x| / sqrt(2)) / 2) is a polynomial fitted for |x| < 5.6, which falls on beyond; of an infinity the
/// result is NaN. erff has several times as many instructions, in each place of an unrolled epilogue.
__device__ __forceinline__ float gelu_erf(float x) {
    const float size = fabsf(x);
    float exponent = -2.275904762e-6F;
    exponent = fmaf(exponent, size, 3.296844807e-5F);
    exponent = fmaf(exponent, size, -1.572810725e-4F);
    exponent = fmaf(exponent, size, -2.024727001e-4F);
    exponent = fmaf(exponent, size, 7.142772432e-3F);
    exponent = fmaf(exponent, size, -5.254642665e-2F);
    exponent = fmaf(exponent, size, -0.4591930509F);
    exponent = fmaf(exponent, size, -1.151106954F);
    exponent = fmaf(exponent, size, -0.9999999404F);
    return fmaf(-size, ptx::exp2_about(exponent), fmaxf(x, 0.0F));
}

/// gelu_tanh() for values that become bf16 or fp16, by one approximate instruction instead of two, whose speed bounds
/// the epilogue: within 2.5e-4 |x| as tanh.approx is documented, within 4e-6 |x| as measured on an H100.
__device__ __forceinline__ float gelu_tanh_about(float x) {
    constexpr float root = 0.7978845608F;
    const float half = 0.5F * x;
    return fmaf(half, ptx::tanh_about(x * fmaf(root * 0.044715F, x * x, root)), half);
}

/// The same of two values that become e4m3, in fp16, times `scale`; within 6e-4 |x|.
__device__ __forceinline__ __half2 scaled_gelu_tanh_about(__half2 x, __half2 scale) {
    const __half2 root = __float2half2_rn(0.7978845608F);
    const __half2 cubic = __float2half2_rn(0.7978845608F * 0.044715F);
    const __half2 half = __hmul2(__hmul2(__float2half2_rn(0.5F), scale), x);
    return __hfma2(half, h2tanh_approx(__hmul2(x, __hfma2(cubic, __hmul2(x, x), root))), half);
}

__device__ __forceinline__ float silu(float x) {
    constexpr float log2e = 1.4426950409F;
    return x * ptx::reciprocal_about(1.0F + ptx::exp2_about(x * -log2e));
}

/// `Rounded`: the type that the values become. Another activation costs products that do not use it, too.
template <class Rounded, std::uint32_t count>
__device__ __forceinline__ void activate(float (&values)[count], Activation activation) {
    switch (activation) {
        case Activation::none:
            break;
        case Activation::relu:
#pragma unroll
            for (float& value : values) {
                value = ptx::larger_or_nan(value, 0.0F);
            }
            break;
        case Activation::gelu_tanh:
#pragma unroll
            for (float& value : values) {
                value = std::is_same_v<Rounded, float> ? gelu_tanh(value) : gelu_tanh_about(value);
            }
            break;
        case Activation::gelu_erf:
#pragma unroll
            for (float& value : values) {
                value = gelu_erf(value);
            }
            break;
        case Activation::silu:
            break;  // of gates only
    }
}

/// silu() for values that become bf16 or fp16; see gelu_tanh_about().
__device__ __forceinline__ float silu_about(float x) {
    const float half = 0.5F * x;
    return fmaf(half, ptx::tanh_about(half), half);
}

/// The same of gates.
template <class Rounded, std::uint32_t count>
__device__ __forceinline__ void activate_gates(float (&gates)[count], Activation activation) {
    if (activation != Activation::silu) {
        activate<Rounded>(gates, activation);
        return;
    }
#pragma unroll
    for (float& gate : gates) {
        gate = std::is_same_v<Rounded, float> ? silu(gate) : silu_about(gate);
    }
}

}  // namespace sluice::gemm
