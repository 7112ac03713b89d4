#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// Products by a warp of 16 queries of a head: with 16 keys, a step, and of weights with their values. Lane l has rows
/// l / 4 and l / 4 + 8 of what is computed. Keys and values are in shared memory, a row every `row_bytes`.
namespace sluice::decoder {

constexpr std::uint32_t key_rows = 16;  // of a step
static_assert(tile_queries == key_rows && page_positions == key_rows, "a tile's own keys are those of a page");

/// A lane's scores of its two queries and 16 keys: [n][2 i + j] is that of its i-th row and of key key_of(n, j).
using Scores = float[2][4];

/// Offset of 16-byte piece number `piece` of a row in a matrix in shared memory, swizzled: neither the same piece of
/// eight rows nor eight pieces of a row have bank conflicts.
template <std::uint32_t row_bytes>
[[nodiscard]] __device__ __forceinline__ std::uint32_t piece_at(std::uint32_t row, std::uint32_t piece) {
    constexpr std::uint32_t rows_of_banks = row_bytes < 128 ? 128 / row_bytes : 1;
    return row * row_bytes + (piece ^ row / rows_of_banks % (8 / rows_of_banks)) * 16;
}

/// Calls use(k, i, word) with words l % 4 and 4 + l % 4 of each 32 bytes k of the lane's two rows: what it has in word
/// i of a left operand. Rows are read by whole sectors.
template <class T, std::uint32_t head_size, class Use>
__device__ __forceinline__ void for_each_word(const T* first, const T* second, const Use& use) {
    const bool odd = threadIdx.x % 2 != 0;
    const std::uint32_t place = threadIdx.x % 2 * 2 + threadIdx.x / 2 % 2;
#pragma unroll
    for (std::uint32_t row = 0; row < 2; ++row) {
        const auto* const words = reinterpret_cast<const uint2*>(row == 0 ? first : second);
#pragma unroll
        for (std::uint32_t k = 0; k < head_size * sizeof(T) / 32; ++k) {
            const uint2 two = words[4 * k + place];
            const std::uint32_t others = __shfl_xor_sync(every_lane, odd ? two.x : two.y, 1);
            use(k, row, odd ? others : two.x);
            use(k, 2 + row, odd ? two.y : others);
        }
    }
}

/// Multiplies the lane's two rows by a factor each. Products are rounded, never fused with a later addition: a text's
/// bits must not depend on how the compiler treats each of several copies of this code.
template <std::uint32_t n>
__device__ __forceinline__ void scale_rows(float (&sums)[n][4], const float (&by)[2]) {
#pragma unroll
    for (auto& each : sums) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            each[i] = __fmul_rn(each[i], by[i / 2]);
        }
    }
}

/// Stores the sums of the lane's i-th row, times `factor`, to `row`; sums of 8 columns each, where mma.sync has them.
/// All lanes call; nothing is stored unless the row `exists`.
template <class Value, std::uint32_t n>
__device__ __forceinline__ void store_mixed(const float (&sums)[n][4], bool exists, std::uint32_t i, float factor,
                                            Value* row) {
    const bool odd = threadIdx.x % 2 != 0;
    auto* const to = reinterpret_cast<uint2*>(row) + threadIdx.x % 2 * 2 + threadIdx.x / 2 % 2;
#pragma unroll
    for (std::uint32_t j = 0; j < n; j += 2) {  // two lanes exchange words: sectors are written whole
        const std::uint32_t low = values::pack<Value>(sums[j][2 * i] * factor, sums[j][2 * i + 1] * factor);
        const std::uint32_t high = values::pack<Value>(sums[j + 1][2 * i] * factor, sums[j + 1][2 * i + 1] * factor);
        const std::uint32_t others = __shfl_xor_sync(every_lane, odd ? low : high, 1);
        if (exists) {
            to[2 * j] = odd ? uint2{others, high} : uint2{low, others};
        }
    }
}

/// In bf16 and fp16; the other precisions are in float_prompt_products.cuh.
template <Precision precision, std::uint32_t head_size>
class PromptProducts {
public:
    using Value = values::Narrow<precision>;
    static constexpr std::uint32_t row_bytes = head_size * sizeof(Value);

    /// Of a step's keys, the one whose scores the lane has in [n][2 i + j].
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t key_of(std::uint32_t n, std::uint32_t j) {
        return 8 * n + threadIdx.x % 4 * 2 + j;
    }

    /// The lane's two rows.
    __device__ __forceinline__ void load_queries(const Value* first, const Value* second) {
        for_each_word<Value, head_size>(
            first, second, [&](std::uint32_t k, std::uint32_t i, std::uint32_t word) { query_[k][i] = word; });
    }

    /// The same from registers: word(j, i) is that of columns 8 j + 2 (l % 4) and the next in the lane's i-th row.
    template <class Word>
    __device__ __forceinline__ void take_queries(const Word& word) {
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; ++j) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                query_[j / 2][j % 2 * 2 + i] = word(j, i);
            }
        }
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t keys, Scores& scores) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            scores[0][i] = 0;
            scores[1][i] = 0;
        }
        const std::uint32_t lane = threadIdx.x % warp_lanes;
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
            std::uint32_t key[4];
            mma::load_matrices(key, keys + piece_at<row_bytes>(lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
            mma::multiply<precision>(scores[0], query_[k], key[0], key[1]);
            mma::multiply<precision>(scores[1], query_[k], key[2], key[3]);
        }
    }

    /// Adds values times `weights`, which are where multiply_keys() leaves scores. `rows`: address of the values.
    __device__ __forceinline__ void add_values(const Scores& weights, std::uint32_t rows) {
        const std::uint32_t packed[4] = {
            values::pack<Value>(weights[0][0], weights[0][1]), values::pack<Value>(weights[0][2], weights[0][3]),
            values::pack<Value>(weights[1][0], weights[1][1]), values::pack<Value>(weights[1][2], weights[1][3])};
        const std::uint32_t lane = threadIdx.x % warp_lanes;
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; j += 2) {
            std::uint32_t two[4];
            mma::load_matrices_across(two, rows + piece_at<row_bytes>(lane % 16, j + lane / 16));
            mma::multiply<precision>(mixed_[j], packed, two[0], two[1]);
            mma::multiply<precision>(mixed_[j + 1], packed, two[2], two[3]);
        }
    }

    /// Multiplies the sums so far by a factor for each of the lane's rows.
    __device__ __forceinline__ void scale(const float (&by)[2]) {
        scale_rows(mixed_, by);
    }

    /// Stores the sums of the lane's i-th row, times `factor`, to the values of `row` from `at` on; a row has `stride`
    /// values. All lanes call; nothing is stored unless the row `exists`.
    __device__ __forceinline__ void store(bool exists, std::uint32_t i, float factor, Value* row, std::uint32_t at,
                                          std::uint32_t /*stride*/) const {
        store_mixed(mixed_, exists, i, factor, row + at);
    }

    /// The sums so far: those of 8 columns j are [4 j + 2 i + c] of the lane's i-th row and columns 2 (l % 4) + c.
    [[nodiscard]] __device__ __forceinline__ auto mixed() -> float (&)[head_size / 2] {
        return reinterpret_cast<float(&)[head_size / 2]>(mixed_);
    }

private:
    std::uint32_t query_[head_size / 16][4];
    float mixed_[head_size / 8][4] = {};  // sums of weighted values, of 8 columns each
};

}  // namespace sluice::decoder
