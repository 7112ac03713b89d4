#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/cuda/primitives/values.cuh"
#include "kernels/token_sampling.hpp"

/// The codes of one byte that a cache keeps values in, and the scales of its rows.
namespace sluice::decoder {

/// The scale of a row of a head.
struct CacheScale {
    std::uint32_t stored;
    float factor;  ///< 1 / scale, unless the row is NaN: values times it are rounded to codes.
};

template <KvCache kind>
struct CacheCodes;

/// e4m3, and e8m0: powers of two, the least by which none of a row is above 448, the largest e4m3.
template <>
struct CacheCodes<KvCache::fp8> {
    using StoredScale = std::uint8_t;
    using TwoScales = std::uint16_t;  ///< Of a key, then of a value.

    /// `largest`: the bits of a row's largest magnitude.
    __device__ static __forceinline__ CacheScale scale_for(std::uint32_t largest) {
        constexpr std::uint32_t bias = 127;
        constexpr std::uint32_t largest_exponent = 8;  // of e4m3, whose largest is 1.75 * 2^8
        const std::uint32_t exponent = largest >> 23U;
        const std::uint32_t wanted = exponent + ((largest & 0x7fffffU) > 0x600000U ? 1U : 0U);
        const bool is_finite = exponent < 2 * bias + 1;
        const std::uint32_t scale = is_finite ? max(wanted, largest_exponent + 1) - largest_exponent : 2 * bias + 1;
        return {scale, __uint_as_float(is_finite ? (2 * bias - scale) << 23U : 0x7fc00000U)};
    }

    __device__ static __forceinline__ std::uint32_t four(float a, float b, float c, float d, float factor) {
        return values::e4m3_of(a * factor, b * factor) | values::e4m3_of(c * factor, d * factor) << 16U;
    }

    /// What the lower or the upper two codes of a word stand for, in fp16.
    __device__ static __forceinline__ std::uint32_t halves(std::uint32_t word, std::uint32_t pair) {
        const auto codes = static_cast<__nv_fp8x2_storage_t>(word >> 16 * pair);
        const __half2 two(__nv_cvt_fp8x2_to_halfraw2(codes, __NV_E4M3));
        return *reinterpret_cast<const std::uint32_t*>(&two);
    }

    /// Infinite if the row is NaN, as are its codes.
    __device__ static __forceinline__ float scale_of_key(std::uint32_t two) {
        return __uint_as_float((two & 0xffU) << 23U);
    }
    __device__ static __forceinline__ float scale_of_value(std::uint32_t two) {
        return __uint_as_float(two >> 8U << 23U);
    }
};

/// -127 to 127, kept as 1 to 255, and bf16: the least by which the row's largest is 127 at most.
template <>
struct CacheCodes<KvCache::int8> {
    using StoredScale = std::uint16_t;
    using TwoScales = std::uint32_t;

    __device__ static __forceinline__ CacheScale scale_for(std::uint32_t largest) {
        constexpr std::uint32_t infinity = 0x7f800000;
        constexpr std::uint32_t least_normal = 0x00800000;
        if (largest >= infinity) {
            return {0x7fc0, 0.0F};
        }
        const std::uint32_t wanted = __float_as_uint(__uint_as_float(largest) / 127.0F);
        const std::uint32_t scale = max((wanted + 0xffffU) & 0xffff0000U, least_normal);
        return {scale >> 16U, 1.0F / __uint_as_float(scale)};
    }

    __device__ static __forceinline__ std::uint32_t four(float a, float b, float c, float d, float factor) {
        // In fp32 from 2^23 on the last bit is 1, so that the sum is rounded to an integer, which its last byte has.
        const auto code = [&](float value) { return __float_as_uint(__fmaf_rn(value, factor, 8388608.0F + 128.0F)); };
        return __byte_perm(__byte_perm(code(a), code(b), 0x0040), __byte_perm(code(c), code(d), 0x0040), 0x5410);
    }

    __device__ static __forceinline__ std::uint32_t halves(std::uint32_t word, std::uint32_t pair) {
        // In fp16 from 1,024 on the last bit is 1: an upper byte of 0x64 makes 1,024 + code of a code.
        const std::uint32_t two = __byte_perm(word, 0x64646464U, pair == 0 ? 0x4140 : 0x4342);
        const __half2 values = __hsub2(*reinterpret_cast<const __half2*>(&two), __float2half2_rn(1024.0F + 128.0F));
        return *reinterpret_cast<const std::uint32_t*>(&values);
    }

    /// NaN if the row is.
    __device__ static __forceinline__ float scale_of_key(std::uint32_t two) { return __uint_as_float(two << 16U); }
    __device__ static __forceinline__ float scale_of_value(std::uint32_t two) {
        return __uint_as_float(two & 0xffff0000U);
    }
};

}  // namespace sluice::decoder
