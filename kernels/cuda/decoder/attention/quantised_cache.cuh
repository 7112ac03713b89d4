#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/attention/cache.hpp"
#include "kernels/cuda/decoder/attention/cache_codes.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// Keys and values in one byte each, as Cache has them: a value is what its code stands for (cache_codes.cuh) times the
/// scale of the head's key or value at its position. A row of a head with NaN or infinity is NaN.
namespace sluice::decoder {

/// Codes of a head's row that a lane has: 16 bytes.
constexpr std::uint32_t lane_codes = 16;

template <std::uint32_t head_size>
constexpr std::uint32_t row_lanes_of = head_size / lane_codes;

template <class T>
__device__ __forceinline__ void load_lane_values(const T* from, float (&to)[lane_codes]) {
    load_8(from, reinterpret_cast<float(&)[8]>(to[0]));
    load_8(from + 8, reinterpret_cast<float(&)[8]>(to[8]));
}

/// A head's part of a page.
template <KvCache kind>
struct CodePage {
    std::uint8_t* rows;                              // (2, page_positions, head_size): keys, values
    typename CacheCodes<kind>::StoredScale* scales;  // (page_positions, 2)
};

template <KvCache kind, std::uint32_t head_size>
__device__ __forceinline__ CodePage<kind> code_page(const Cache& cache, std::uint32_t layer, std::uint32_t page,
                                                    std::uint32_t head) {
    constexpr std::size_t rows = 2 * page_positions;
    const std::uint32_t heads = cache.width / head_size;  // a KiB or more each: their number has 32 bits
    const std::uint32_t number = layer * cache.pages * heads + head + page * heads;
    return {static_cast<std::uint8_t*>(cache.values) + number * (rows * head_size),
            static_cast<typename CacheCodes<kind>::StoredScale*>(cache.scales) + number * rows};
}

struct CodedPiece {
    uint4 codes;
    std::uint32_t scale;  // as it is stored
};

/// Quantises a row of a head, of which row_lanes_of neighbouring lanes have lane_codes values each. All lanes call.
template <KvCache kind, std::uint32_t head_size>
__device__ __forceinline__ CodedPiece quantise(const float (&from)[lane_codes]) {
    std::uint32_t largest = 0;  // bits: NaN is above infinity, which is above all others
#pragma unroll
    for (const float value : from) {
        largest = max(largest, __float_as_uint(fabsf(value)));
    }
#pragma unroll
    for (std::uint32_t apart = 1; apart < row_lanes_of<head_size>; apart *= 2) {
        largest = max(largest, __shfl_xor_sync(every_lane, largest, apart));
    }
    const CacheScale scale = CacheCodes<kind>::scale_for(largest);
    std::uint32_t words[lane_codes / 4];
#pragma unroll
    for (std::uint32_t i = 0; i < lane_codes / 4; ++i) {
        words[i] = CacheCodes<kind>::four(from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3], scale.factor);
    }
    return {{words[0], words[1], words[2], words[3]}, scale.stored};
}

/// The values that codes stand for, before they are multiplied by the scale.
template <KvCache kind>
__device__ __forceinline__ void unscaled(const uint4& codes, float (&to)[lane_codes]) {
    const std::uint32_t words[] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (std::uint32_t i = 0; i < lane_codes; i += 2) {
        const std::uint32_t two = CacheCodes<kind>::halves(words[i / 4], i % 4 / 2);
        const float2 values = __half22float2(*reinterpret_cast<const __half2*>(&two));
        to[i] = values.x;
        to[i + 1] = values.y;
    }
}

/// Stores the lane's part, from value `at` on, of a key (`matrix` 0) or a value (1) at position `place` of the page;
/// the row's first lane stores the scale, too.
template <KvCache kind, std::uint32_t head_size>
__device__ __forceinline__ void store_piece(const CodePage<kind>& page, std::uint32_t matrix, std::uint32_t place,
                                            std::uint32_t at, const CodedPiece& piece) {
    *reinterpret_cast<uint4*>(page.rows + (matrix * page_positions + place) * head_size + at) = piece.codes;
    if (at == 0) {
        page.scales[2 * place + matrix] = static_cast<typename CacheCodes<kind>::StoredScale>(piece.scale);
    }
}

}  // namespace sluice::decoder
