#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/float_kernel.hpp"
#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/values.cuh"

/// What FloatProduct's kernels by mma.sync do with a tile's sums.
namespace sluice::decoder {

/// As fp32, straight from registers: two columns of a row at a time.
template <class C>
struct MmaFloatStore {
    using Target = FloatProductArguments;
    static constexpr std::uint32_t shared_bytes = 0;

    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const Target& target,
                                                 const gemm::MmaSums<C>& sums, std::uint32_t rows, std::uint32_t row,
                                                 std::uint32_t column, std::uint32_t) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        const std::uint32_t first_row = row + warp / C::warps_across * C::warp_rows + lane / 4;
        const std::uint32_t first_column = column + warp % C::warps_across * C::warp_columns + lane % 4 * 2;
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products; ++n) {
            const std::uint32_t at = first_column + n * gemm::mma_columns;
            if (at >= arguments.columns) {
                continue;
            }
            const float2 bias =
                arguments.bias == nullptr ? float2{0, 0} : *reinterpret_cast<const float2*>(arguments.bias + at);
#pragma unroll
            for (std::uint32_t m = 0; m < C::row_products; ++m) {
                const float(&of)[4] = sums.of[m][n];
                float values[4] = {of[0] + bias.x, of[1] + bias.y, of[2] + bias.x, of[3] + bias.y};
                gemm::activate(values, arguments.activation);
#pragma unroll
                for (std::uint32_t half = 0; half < 2; ++half) {
                    const std::uint32_t of_row = first_row + m * gemm::mma_rows + half * 8;
                    if (of_row < rows) {
                        store_two(target, std::size_t{of_row} * target.stride + at, values[2 * half],
                                  values[2 * half + 1]);
                    }
                }
            }
        }
    }

private:
    __device__ __forceinline__ static void store_two(const Target& target, std::size_t at, float first, float second) {
        if (target.residual != nullptr) {
            const float2 others = *reinterpret_cast<const float2*>(target.residual + at);
            first += others.x;
            second += others.y;
        }
        if (target.rounds_to_tf32) {
            first = values::round_tf32(first);
            second = values::round_tf32(second);
        }
        *reinterpret_cast<float2*>(target.out + at) = {first, second};
    }
};

/// What is known of a row's largest value: a TileBest.
struct RowBest {
    float score;
    std::uint32_t place;  ///< With nonfinite_mark.

    __device__ __forceinline__ explicit RowBest(std::uint32_t first) : score(-INFINITY), place(first) {}
    __device__ __forceinline__ RowBest(float score_, std::uint32_t place_) : score(score_), place(place_) {}

    /// Of places that ascend.
    __device__ __forceinline__ void look_at(float value, std::uint32_t at) {
        const std::uint32_t mark = (place & nonfinite_mark) | (isfinite(value) ? 0 : nonfinite_mark);
        if (value > score) {
            score = value;
            place = at;
        }
        place = (place & ~nonfinite_mark) | mark;
    }

    __device__ __forceinline__ void merge(const RowBest& other) {
        const std::uint32_t mark = (place | other.place) & nonfinite_mark;
        const std::uint32_t own = place & ~nonfinite_mark;
        const std::uint32_t others = other.place & ~nonfinite_mark;
        const bool better = other.score > score || (other.score == score && others < own);
        score = better ? other.score : score;
        place = (better ? others : own) | mark;
    }
};

/// The largest of each row's columns of the tile, through shared memory from warp to warp.
template <class C>
struct MmaBestStore {
    using Target = FloatProductArguments;
    static constexpr std::uint32_t best_bytes = 8;
    static constexpr std::uint32_t shared_bytes = C::rows * C::warps_across * best_bytes;
    static_assert(float_product_tile_columns(Precision::bf16) == C::columns &&
                  float_product_tile_columns(Precision::tf32) == C::columns);
    static_assert(C::threads >= C::rows && C::stages_bytes + shared_bytes <= C::most_shared_bytes);

    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const Target& target,
                                                 const gemm::MmaSums<C>& sums, std::uint32_t rows, std::uint32_t row,
                                                 std::uint32_t column, std::uint32_t shared) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        const std::uint32_t across = warp % C::warps_across;
        const std::uint32_t first_row = warp / C::warps_across * C::warp_rows + lane / 4;
        const std::uint32_t first_column = column + across * C::warp_columns + lane % 4 * 2;
#pragma unroll
        for (std::uint32_t m = 0; m < C::row_products; ++m) {
#pragma unroll
            for (std::uint32_t half = 0; half < 2; ++half) {
                RowBest best(column);
#pragma unroll
                for (std::uint32_t n = 0; n < C::column_products; ++n) {
#pragma unroll
                    for (std::uint32_t two = 0; two < 2; ++two) {
                        const std::uint32_t at = first_column + n * gemm::mma_columns + two;
                        if (at < arguments.columns) {
                            best.look_at(sums.of[m][n][2 * half + two], at);
                        }
                    }
                }
#pragma unroll
                for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
                    const float score = __shfl_xor_sync(every_lane, best.score, apart);
                    best.merge({score, __shfl_xor_sync(every_lane, best.place, apart)});
                }
                if (lane % 4 == 0) {
                    const std::uint32_t of_row = first_row + m * gemm::mma_rows + half * 8;
                    const std::uint32_t to = shared + (of_row * C::warps_across + across) * best_bytes;
                    ptx::store_shared(to, best.score);
                    ptx::store_shared(to + best_bytes / 2, best.place);
                }
            }
        }
        __syncthreads();
        if (threadIdx.x < C::rows && row + threadIdx.x < rows) {
            RowBest best(column);
#pragma unroll
            for (std::uint32_t i = 0; i < C::warps_across; ++i) {
                const float2 other = ptx::load_shared_8(shared + (threadIdx.x * C::warps_across + i) * best_bytes);
                best.merge({other.x, __float_as_uint(other.y)});
            }
            target.bests[std::size_t{row + threadIdx.x} * target.best_tiles + column / C::columns] = {best.score,
                                                                                                      best.place};
        }
    }
};

}  // namespace sluice::decoder
