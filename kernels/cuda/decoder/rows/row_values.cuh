#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/cuda/primitives/values.cuh"

/// Loads and stores of rows.
namespace sluice::decoder {

__device__ __forceinline__ uint4 load_16(const void* from) {
    return *static_cast<const uint4*>(from);
}

/// Loads eight 16-bit values.
template <class T>
__device__ __forceinline__ void load_8(const T* from, float (&to)[8]) {
    values::unpack(load_16(from), to, T{});
}

/// Loads eight values, aligned to 16 bytes.
__device__ __forceinline__ void load_8(const float* from, float (&to)[8]) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
    *reinterpret_cast<float4*>(to + 4) = *reinterpret_cast<const float4*>(from + 4);
}

/// Loads four values, aligned to 16 bytes.
__device__ __forceinline__ void load_4(const float* from, float (&to)[4]) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

template <class T>
__device__ __forceinline__ void store_8(T* to, const float (&from)[8]) {
    *reinterpret_cast<uint4*>(to) = values::pack<T>(from);
}

/// Format of values that are inputs of a product.
enum class Kept : std::uint8_t {
    as_is,
    tf32,        ///< fp32, rounded to tf32.
    half_parts,  ///< Two parts of fp16, (2, stride), in as many bytes as a row of fp32.
    half_codes,  ///< (stride) fp16, (stride) e4m3 and (stride) remainders in e4m3, likewise.
};

/// Stores value `at` of a row of `stride` values.
template <Kept kept>
__device__ __forceinline__ void keep(float* row, std::uint32_t stride, std::uint32_t at, float value) {
    if constexpr (kept == Kept::half_parts) {
        const values::HalfParts parts = values::split_half(value, 0);
        auto* const to = reinterpret_cast<std::uint16_t*>(row) + at;
        to[0] = static_cast<std::uint16_t>(parts.firsts);
        to[stride] = static_cast<std::uint16_t>(parts.rests);
    } else if constexpr (kept == Kept::half_codes) {
        const values::HalfCodes parts = values::split_half_codes(value, 0);
        reinterpret_cast<std::uint16_t*>(row)[at] = static_cast<std::uint16_t>(parts.firsts);
        auto* const codes = reinterpret_cast<std::uint8_t*>(row) + 2 * stride + at;
        codes[0] = static_cast<std::uint8_t>(parts.codes);
        codes[stride] = static_cast<std::uint8_t>(parts.rests);
    } else {
        row[at] = kept == Kept::tf32 ? values::round_tf32(value) : value;
    }
}

/// Stores four of them; `at` is a multiple of four.
template <Kept kept>
__device__ __forceinline__ void keep_4(float* row, std::uint32_t stride, std::uint32_t at, const float (&from)[4]) {
    if constexpr (kept == Kept::half_parts) {
        const values::HalfParts low = values::split_half(from[0], from[1]);
        const values::HalfParts high = values::split_half(from[2], from[3]);
        auto* const to = reinterpret_cast<std::uint16_t*>(row) + at;
        *reinterpret_cast<uint2*>(to) = {low.firsts, high.firsts};
        *reinterpret_cast<uint2*>(to + stride) = {low.rests, high.rests};
    } else if constexpr (kept == Kept::half_codes) {
        const values::HalfCodes low = values::split_half_codes(from[0], from[1]);
        const values::HalfCodes high = values::split_half_codes(from[2], from[3]);
        *reinterpret_cast<uint2*>(reinterpret_cast<std::uint16_t*>(row) + at) = {low.firsts, high.firsts};
        auto* const codes = reinterpret_cast<std::uint8_t*>(row) + 2 * stride + at;
        *reinterpret_cast<std::uint32_t*>(codes) = low.codes | std::uint32_t{high.codes} << 16U;
        *reinterpret_cast<std::uint32_t*>(codes + stride) = low.rests | std::uint32_t{high.rests} << 16U;
    } else {
        float out[4];
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            out[i] = kept == Kept::tf32 ? values::round_tf32(from[i]) : from[i];
        }
        *reinterpret_cast<float4*>(row + at) = {out[0], out[1], out[2], out[3]};
    }
}

/// Calls `use` with a value of the precision's type of activations.
template <class Use>
void with_type_of(Precision precision, const Use& use) {
    if (precision == Precision::bf16) {
        use(__nv_bfloat16{});
    } else if (precision == Precision::fp16) {
        use(__half{});
    } else {
        use(float{});
    }
}

/// The same of bf16 or fp16.
template <class Use>
void with_narrow_type_of(Precision precision, const Use& use) {
    if (precision == Precision::bf16) {
        use(__nv_bfloat16{});
    } else {
        use(__half{});
    }
}

}  // namespace sluice::decoder
