#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

/// A thread's place in a tile: it has, in row `row`, two of every eight columns from `column` on, four threads all.
struct RowPlace {
    std::uint32_t row;
    std::uint32_t column;  ///< The first of the tile, or of the tokens of a ScoreSum.
    std::uint32_t lane;

    [[nodiscard]] __device__ __forceinline__ std::uint32_t column_of(std::uint32_t eight, std::uint32_t two) const {
        return column + 8 * eight + lane % 4 * 2 + two;
    }
    /// Whether the thread stores what the four have joined.
    [[nodiscard]] __device__ __forceinline__ bool stores(std::uint32_t rows) const {
        return lane % 4 == 0 && row < rows;
    }
};

/// A thread's share of group_tokens scores of a row: two of every eight, of which four lanes have all.
using LaneScores = float[group_tokens / 4];

[[nodiscard]] __device__ __forceinline__ float largest_of_four(float value) {
#pragma unroll
    for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
        value = fmaxf(value, __shfl_xor_sync(every_lane, value, apart));
    }
    return value;
}

[[nodiscard]] __device__ __forceinline__ float sum_of_four(float value) {
#pragma unroll
    for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
        value += __shfl_xor_sync(every_lane, value, apart);
    }
    return value;
}

/// The ScoreSum of four lanes' scores. Called by all lanes of a warp; `per_temperature`: log2(e) / temperature.
/// `may_be_zero`: that is, where the sum is of no use and may be quick.
template <bool may_be_zero>
[[nodiscard]] __device__ __forceinline__ ScoreSum score_sum(const LaneScores& scores, float per_temperature) {
    float largest = -INFINITY;
    float finite = 0;  // or NaN
#pragma unroll
    for (const float score : scores) {
        largest = fmaxf(largest, score);
        finite = fmaf(score, 0, finite);
    }
    largest = largest_of_four(largest);
    float sum = finite;
    if (!may_be_zero || per_temperature != 0) {
#pragma unroll
        for (const float score : scores) {
            sum += ptx::exp2_about((score - largest) * per_temperature);
        }
    }
    return {largest, sum_of_four(sum)};
}

/// The sum of e^(score - largest) of four lanes' scores; one of minus infinity adds nothing, whatever the largest.
/// Called by all lanes of a warp.
[[nodiscard]] __device__ __forceinline__ float plain_sum(const LaneScores& scores, float largest) {
    largest = fmaxf(largest, weightless);
    float sum = 0;
#pragma unroll
    for (const float score : scores) {
        sum += ptx::exp2_about((score - largest) * ptx::log2_e);
    }
    return sum_of_four(sum);
}

// What epilogues store of a row's group, whose columns begin at place.column. Called by all lanes of a warp.

/// Sets what lies behind the last column.
__device__ __forceinline__ void end_at_last_column(const gemm::Arguments& arguments, LaneScores& scores,
                                                   const RowPlace& place, float behind) {
    if (place.column + group_tokens > arguments.columns) {
#pragma unroll
        for (std::uint32_t v = 0; v < group_tokens / 4; ++v) {
            if (place.column_of(v / 2, v % 2) >= arguments.columns) {
                scores[v] = behind;
            }
        }
    }
}

template <bool may_be_zero>
__device__ __forceinline__ void store_score_sum(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                LaneScores& scores, const RowPlace& place) {
    end_at_last_column(arguments, scores, place, weightless);
    const ScoreSum sum = score_sum<may_be_zero>(scores, floats.per_temperature);
    if (place.stores(*arguments.active) && place.column < arguments.columns) {
        floats.score_sums[std::size_t{place.row} * floats.results + place.column / group_tokens] = sum;
    }
}

struct StoredScoreSums {
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 LaneScores& scores, const RowPlace& place) {
        store_score_sum<false>(arguments, floats, scores, place);
    }
};

/// A ScoreSum, and its plain sum.
struct StoredBothSums {
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 LaneScores& scores, const RowPlace& place) {
        end_at_last_column(arguments, scores, place, weightless);
        const ScoreSum sum = score_sum<false>(scores, floats.per_temperature);
        const float plain = plain_sum(scores, sum.largest);
        if (place.stores(*arguments.active) && place.column < arguments.columns) {
            const std::size_t at = std::size_t{place.row} * floats.results + place.column / group_tokens;
            floats.score_sums[at] = sum;
            floats.plain_sums[at] = plain;
        }
    }
};

/// Beside bests: a ScoreSum at a temperature of 1 that is a number also where there are scores of minus infinity.
struct StoredPlainSums {
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 LaneScores& scores, const RowPlace& place) {
        end_at_last_column(arguments, scores, place, -INFINITY);
        float largest = -INFINITY;
#pragma unroll
        for (const float score : scores) {
            largest = fmaxf(largest, score);
        }
        largest = largest_of_four(largest);
        const float sum = plain_sum(scores, largest);
        if (place.stores(*arguments.active) && place.column < arguments.columns) {
            const std::size_t groups = groups_of(arguments.columns);
            floats.score_sums[place.row * groups + place.column / group_tokens] = {largest, sum};
        }
    }
};

/// All scores, and their ScoreSum.
struct StoredScores {
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 LaneScores& scores, const RowPlace& place) {
        if (place.row < *arguments.active) {
            float* const to = floats.out + std::size_t{place.row} * floats.stride;
#pragma unroll
            for (std::uint32_t eight = 0; eight < group_tokens / 8; ++eight) {
                const std::uint32_t at = place.column_of(eight, 0);
                if (at < arguments.columns) {
                    *reinterpret_cast<float2*>(to + at) = {scores[2 * eight], scores[2 * eight + 1]};
                }
            }
        }
        store_score_sum<true>(arguments, floats, scores, place);
    }
};

}  // namespace sluice::decoder
