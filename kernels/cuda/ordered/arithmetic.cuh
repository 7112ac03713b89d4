#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The host's elementwise functions and its logarithm, bit for bit: the same operations in the same order, never fused.
namespace sluice::ordered {

/// e^r - 1 = rest, x = n ln 2 + r with |r| <= ln 2 / 2, and power = 2^n; -87 <= x <= 88.
struct SplitExp {
    float rest;
    float power;

    __device__ __forceinline__ explicit SplitExp(float x) {
        constexpr float per_ln2 = 1.44269504F;
        constexpr float ln2_high = 0.693359375F;
        constexpr float ln2_low = -2.12194440e-4F;
        constexpr float rounder = 12582912.0F;
        constexpr int rounder_bits = 0x4B400000;
        constexpr int bias = 127;
        constexpr int fraction_bits = 23;
        const float rounded = __fadd_rn(__fmul_rn(x, per_ln2), rounder);
        const float n = __fadd_rn(rounded, -rounder);
        const float r = __fadd_rn(__fadd_rn(x, -__fmul_rn(n, ln2_high)), -__fmul_rn(n, ln2_low));
        float p = __fadd_rn(__fmul_rn(r, 1.0F / 5040), 1.0F / 720);
        p = __fadd_rn(__fmul_rn(p, r), 1.0F / 120);
        p = __fadd_rn(__fmul_rn(p, r), 1.0F / 24);
        p = __fadd_rn(__fmul_rn(p, r), 1.0F / 6);
        p = __fadd_rn(__fmul_rn(p, r), 0.5F);
        rest = __fadd_rn(__fmul_rn(p, __fmul_rn(r, r)), r);
        const int exponent = __float_as_int(rounded) - rounder_bits + bias;
        power = __uint_as_float(static_cast<std::uint32_t>(exponent) << fraction_bits);
    }
};

__device__ __forceinline__ float clamped(float x, float least, float most) {
    x = x < least ? least : x;
    return x > most ? most : x;  // NaN stays NaN
}

__device__ __forceinline__ float exp_of(float x) {
    const SplitExp e(clamped(x, -87.0F, 88.0F));
    return __fadd_rn(__fmul_rn(e.rest, e.power), e.power);
}

__device__ __forceinline__ float sigmoid_of(float x) {
    return __fdiv_rn(1.0F, __fadd_rn(exp_of(-x), 1.0F));
}

__device__ __forceinline__ float tanh_of(float x) {
    constexpr std::uint32_t sign_bit = 0x80000000U;
    const std::uint32_t sign = __float_as_uint(x) & sign_bit;
    const float magnitude = __uint_as_float(__float_as_uint(x) & ~sign_bit);
    const SplitExp e(clamped(__fmul_rn(magnitude, 2.0F), 0.0F, 30.0F));
    const float less_one = __fadd_rn(__fmul_rn(e.rest, e.power), __fadd_rn(e.power, -1.0F));
    return __uint_as_float(__float_as_uint(__fdiv_rn(less_one, __fadd_rn(less_one, 2.0F))) | sign);
}

/// ln x for a finite x > 0.
__device__ __forceinline__ double log_of(double x) {
    constexpr double ln2 = 0.69314718055994530942;
    constexpr double half_root = 0.70710678118654752440;
    constexpr int terms = 11;
    int exponent = 0;
    double fraction = frexp(x, &exponent);
    if (fraction < half_root) {
        fraction = __dmul_rn(fraction, 2);
        --exponent;
    }
    const double s = __ddiv_rn(__dadd_rn(fraction, -1), __dadd_rn(fraction, 1));
    double series = 0;
#pragma unroll
    for (int term = terms - 1; term >= 0; --term) {
        series = __dadd_rn(__dmul_rn(series, __dmul_rn(s, s)), 1.0 / (2 * term + 1));
    }
    return __dadd_rn(__dmul_rn(__dmul_rn(2, s), series), __dmul_rn(exponent, ln2));
}

}  // namespace sluice::ordered
