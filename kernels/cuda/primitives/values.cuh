#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/modes.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

/// Conversions of values in memory from and to fp32 in registers.
namespace sluice::values {

template <class T>
inline constexpr int in_16_bytes = 16 / static_cast<int>(sizeof(T));

__device__ __forceinline__ void unpack(const uint4& from, float (&to)[8], __half) {
    const std::uint32_t words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

__device__ __forceinline__ void unpack(const uint4& from, float (&to)[8], __nv_bfloat16) {
    const std::uint32_t words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        to[2 * i] = __uint_as_float(words[i] << 16);
        to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
    }
}

__device__ __forceinline__ void unpack(const uint4& from, float (&to)[4], float) {
    to[0] = __uint_as_float(from.x);
    to[1] = __uint_as_float(from.y);
    to[2] = __uint_as_float(from.z);
    to[3] = __uint_as_float(from.w);
}

/// Two values as e4m3, the first in the lower byte; those beyond 448 become 448, and NaN stays NaN.
__device__ __forceinline__ std::uint32_t e4m3_of(float first, float second) {
    return __nv_cvt_float2_to_fp8x2({first, second}, __NV_SATFINITE, __NV_E4M3);
}

__device__ __forceinline__ std::uint32_t e4m3_of(__half2 two) {
    return __nv_cvt_halfraw2_to_fp8x2(two, __NV_SATFINITE, __NV_E4M3);
}

__device__ __forceinline__ __half2 half2_of(const uint4& from, int i) {
    const std::uint32_t word = i == 0 ? from.x : i == 1 ? from.y : i == 2 ? from.z : from.w;
    return *reinterpret_cast<const __half2*>(&word);
}

/// Type in memory of a two-byte precision.
template <Precision precision>
struct NarrowOf;
template <>
struct NarrowOf<Precision::bf16> {
    using Type = __nv_bfloat16;
};
template <>
struct NarrowOf<Precision::fp16> {
    using Type = __half;
};
template <Precision precision>
using Narrow = typename NarrowOf<precision>::Type;

/// Two values in 16 bits each; the lower half is `low`.
template <class T, bool relu = false>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t packed;
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        if constexpr (relu) {
            asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        } else {
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        }
    } else {
        static_assert(std::is_same_v<T, __half>);
        if constexpr (relu) {
            asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        } else {
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
        }
    }
    return packed;
}

template <class T>
__device__ __forceinline__ uint4 pack(const float (&from)[8]) {
    return {pack<T>(from[0], from[1]), pack<T>(from[2], from[3]), pack<T>(from[4], from[5]), pack<T>(from[6], from[7])};
}

/// Rounded to tf32.
template <bool relu = false>
__device__ __forceinline__ float round_tf32(float value) {
    std::uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(relu ? ptx::larger_or_nan(value, 0.0F) : value));
    return __uint_as_float(rounded);
}

/// In the two parts of tf32x3.
template <bool relu = false>
__device__ __forceinline__ float2 split_tf32(float value) {
    const float all = relu ? ptx::larger_or_nan(value, 0.0F) : value;
    const float first = round_tf32(all);
    return {first, round_tf32(all - first)};
}

/// Two values in two parts of fp16; both parts are infinite beyond fp16's range.
struct HalfParts {
    std::uint32_t firsts;
    std::uint32_t rests;  // times half_rest_scale
};

__device__ __forceinline__ HalfParts split_half(float low, float high) {
    const std::uint32_t firsts = pack<__half>(low, high);
    const float2 kept = __half22float2(*reinterpret_cast<const __half2*>(&firsts));
    return {firsts, pack<__half>((low - kept.x) * half_rest_scale, (high - kept.y) * half_rest_scale)};
}

/// Two values in fp16, and in e4m3 both and what fp16 leaves of them; see half_values.hpp.
struct HalfCodes {
    std::uint32_t firsts;
    std::uint16_t codes;
    std::uint16_t rests;  // times half_rest_scale
};

__device__ __forceinline__ HalfCodes split_half_codes(float low, float high) {
    const std::uint32_t firsts = pack<__half>(low, high);
    const float2 kept = __half22float2(*reinterpret_cast<const __half2*>(&firsts));
    return {firsts, static_cast<std::uint16_t>(e4m3_of(low, high)),
            static_cast<std::uint16_t>(e4m3_of((low - kept.x) * half_rest_scale, (high - kept.y) * half_rest_scale))};
}

/// Eight values of e4m3.
__device__ __forceinline__ void unpack_e4m3(const uint2& from, float (&to)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t word = i < 2 ? from.x : from.y;
        const __half2_raw two =
            __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(word >> (i % 2 * 16)), __NV_E4M3);
        const float2 values = __half22float2(__half2(two));
        to[2 * i] = values.x;
        to[2 * i + 1] = values.y;
    }
}

__device__ __forceinline__ uint4 pack_fp32(const float (&from)[4]) {
    return {__float_as_uint(from[0]), __float_as_uint(from[1]), __float_as_uint(from[2]), __float_as_uint(from[3])};
}

struct Tf32 {};    ///< fp32 in memory, rounded to tf32.
struct Tf32x3 {};  ///< Rows in two parts.

/// Stores `from` as values [at, at + n) of row `number` of a tensor with rows of `row` values; 16 bytes per part.
template <class Out, int n>
__device__ __forceinline__ void store(void* out, std::size_t number, std::uint32_t row, std::uint32_t at,
                                      const float (&from)[n]) {
    if constexpr (n == 8) {
        ptx::store_global_16(static_cast<Out*>(out) + number * row + at, pack<Out>(from));
    } else if constexpr (std::is_same_v<Out, Tf32x3>) {
        float first[4], second[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 parts = split_tf32(from[i]);
            first[i] = parts.x;
            second[i] = parts.y;
        }
        float* const to = static_cast<float*>(out) + number * 2 * row + at;
        ptx::store_global_16(to, pack_fp32(first));
        ptx::store_global_16(to + row, pack_fp32(second));
    } else {
        float kept[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            kept[i] = std::is_same_v<Out, Tf32> ? round_tf32(from[i]) : from[i];
        }
        ptx::store_global_16(static_cast<float*>(out) + number * row + at, pack_fp32(kept));
    }
}

}  // namespace sluice::values
