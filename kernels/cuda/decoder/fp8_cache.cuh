#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/decoder/rows.hpp"

/// Keys and values in fp8, as Cache has them: a value is its e4m3 times 2^(scale - 127), the scale (e8m0) that of the
/// head's key or value at its position: the least by which none of it is above 448, the largest e4m3. A row of a head
/// with NaN or infinity is NaN.
namespace sluice::decoder {

/// That a lane has of a row of a head: 16 bytes.
constexpr std::uint32_t fp8_values = 16;

template <std::uint32_t head_size>
constexpr std::uint32_t fp8_row_lanes = head_size / fp8_values;

template <class T>
__device__ __forceinline__ void load_fp8_values(const T* from, float (&to)[fp8_values]) {
    load_8(from, reinterpret_cast<float(&)[8]>(to[0]));
    load_8(from + 8, reinterpret_cast<float(&)[8]>(to[8]));
}

/// Of a head.
struct Fp8Page {
    std::uint8_t* rows;    // (2, page_positions, head_size): keys, values
    std::uint8_t* scales;  // (page_positions, 2)
};

template <std::uint32_t head_size>
__device__ __forceinline__ Fp8Page fp8_page(const Cache& cache, std::uint32_t layer, std::uint32_t page,
                                            std::uint32_t head) {
    constexpr std::size_t rows = 2 * page_positions;
    const std::uint32_t heads = cache.width / head_size;  // a KiB or more each: their number has 32 bits
    const std::uint32_t number = layer * cache.pages * heads + head + page * heads;
    return {static_cast<std::uint8_t*>(cache.values) + number * (rows * head_size), cache.scales + number * rows};
}

struct Fp8Piece {
    uint4 values;
    std::uint32_t scale;
};

/// A row of a head, of which fp8_row_lanes neighbouring lanes have fp8_values each. All lanes of the warp call.
template <std::uint32_t head_size>
__device__ __forceinline__ Fp8Piece to_fp8(const float (&from)[fp8_values]) {
    constexpr std::uint32_t bias = 127;
    constexpr std::uint32_t largest_exponent = 8;  // of e4m3, whose largest is 1.75 * 2^8
    std::uint32_t largest = 0;                     // bits: NaN is above infinity, which is above all others
#pragma unroll
    for (const float value : from) {
        largest = max(largest, __float_as_uint(fabsf(value)));
    }
#pragma unroll
    for (std::uint32_t apart = 1; apart < fp8_row_lanes<head_size>; apart *= 2) {
        largest = max(largest, __shfl_xor_sync(every_lane, largest, apart));
    }
    const std::uint32_t exponent = largest >> 23U;
    const std::uint32_t wanted = exponent + ((largest & 0x7fffffU) > 0x600000U ? 1U : 0U);
    const bool is_finite = exponent < 2 * bias + 1;
    const std::uint32_t scale = is_finite ? max(wanted, largest_exponent + 1) - largest_exponent : 2 * bias + 1;
    const float factor = __uint_as_float(is_finite ? (2 * bias - scale) << 23U : 0x7fc00000U);
    std::uint32_t words[fp8_values / 4];
#pragma unroll
    for (std::uint32_t i = 0; i < fp8_values / 4; ++i) {
        const auto two = [&](std::uint32_t at) -> std::uint32_t {
            return __nv_cvt_float2_to_fp8x2({from[at] * factor, from[at + 1] * factor}, __NV_SATFINITE, __NV_E4M3);
        };
        words[i] = two(4 * i) | two(4 * i + 2) << 16U;
    }
    return {{words[0], words[1], words[2], words[3]}, scale};
}

/// The two values in the lower half of a word, without the scale, in fp16.
__device__ __forceinline__ std::uint32_t half2_of_fp8(std::uint32_t word) {
    const __half2 two(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(word), __NV_E4M3));
    return *reinterpret_cast<const std::uint32_t*>(&two);
}

/// Without the scale.
__device__ __forceinline__ void from_fp8(const uint4& from, float (&to)[fp8_values]) {
    const std::uint32_t words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (std::uint32_t i = 0; i < fp8_values; i += 2) {
        const std::uint32_t two = half2_of_fp8(words[i / 4] >> i % 4 * 8);
        const float2 values = __half22float2(*reinterpret_cast<const __half2*>(&two));
        to[i] = values.x;
        to[i + 1] = values.y;
    }
}

__device__ __forceinline__ float scale_of_fp8(std::uint32_t scale) {
    return __uint_as_float(scale << 23U);  // infinite for what is NaN
}

/// The lane's part of a key or value, `matrix` 0 or 1, whose values from `at` on it has; position `place` of the page.
/// The first of a row's lanes stores the scale.
template <std::uint32_t head_size>
__device__ __forceinline__ void store_fp8(const Fp8Page& page, std::uint32_t matrix, std::uint32_t place,
                                          std::uint32_t at, const Fp8Piece& piece) {
    *reinterpret_cast<uint4*>(page.rows + (matrix * page_positions + place) * head_size + at) = piece.values;
    if (at == 0) {
        page.scales[2 * place + matrix] = static_cast<std::uint8_t>(piece.scale);
    }
}

}  // namespace sluice::decoder
