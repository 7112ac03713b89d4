#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/row_place.cuh"
#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// Epilogues of FloatProduct's kernels by mma.sync.
namespace sluice::decoder {

/// Stores fp32 straight from registers, two columns of a row at a time.
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
                gemm::activate<float>(values, arguments.activation);
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

/// What `Stored` stores of each row of a warp's columns, which are a group of tokens.
template <class C, class Stored>
struct MmaRowsStore {
    using Target = FloatProductArguments;
    static constexpr std::uint32_t shared_bytes = 0;
    static_assert(C::warp_columns == group_tokens);

    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const Target& target,
                                                 const gemm::MmaSums<C>& sums, std::uint32_t, std::uint32_t row,
                                                 std::uint32_t column, std::uint32_t) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        const std::uint32_t first_row = row + warp / C::warps_across * C::warp_rows + lane / 4;
        const std::uint32_t first_column = column + warp % C::warps_across * C::warp_columns;
#pragma unroll
        for (std::uint32_t m = 0; m < C::row_products; ++m) {
#pragma unroll
            for (std::uint32_t half = 0; half < 2; ++half) {
                LaneScores scores;
#pragma unroll
                for (std::uint32_t v = 0; v < group_tokens / 4; ++v) {
                    scores[v] = sums.of[m][v / 2][2 * half + v % 2];
                }
                const RowPlace place{first_row + m * gemm::mma_rows + half * 8, first_column, lane};
                Stored::store(arguments, target, scores, place);
            }
        }
    }
};

/// A row's largest values so far, as a TileBest.
struct RowBest {
    BestTwo found{};
    std::uint32_t nonfinite = 0;  ///< nonfinite_mark, or 0.

    /// Requires ascending `at`.
    __device__ __forceinline__ void look_at(float value, std::uint32_t at) {
        nonfinite |= isfinite(value) ? 0 : nonfinite_mark;
        found.look_at_next(value, at);
    }
    __device__ __forceinline__ void merge(const TileBest& other) {
        nonfinite |= other.place & nonfinite_mark;
        found.join({{other.score, other.place & ~nonfinite_mark}, other.second});
    }
    /// Merges the row's lane whose number differs by xor `apart`. Called by all lanes of a warp.
    __device__ __forceinline__ void merge_lane(std::uint32_t apart) {
        found.join(found.of_lane(apart));
        nonfinite |= __shfl_xor_sync(every_lane, nonfinite, apart);
    }
    /// Without scores, as beyond the last column, the place has no mark.
    [[nodiscard]] __device__ __forceinline__ TileBest tile_best() const {
        return {found.best.score, (found.best.place & ~nonfinite_mark) | nonfinite, found.second};
    }
};

/// Stores the two largest of each row of the tile; warps exchange them through shared memory.
template <class C>
struct MmaBestStore {
    using Target = FloatProductArguments;
    static constexpr std::uint32_t best_bytes = 16;  // a TileBest, padded to one load
    static constexpr std::uint32_t shared_bytes = C::rows * C::warps_across * best_bytes;
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
                RowBest best;
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
                    best.merge_lane(apart);
                }
                if (lane % 4 == 0) {
                    const std::uint32_t of_row = first_row + m * gemm::mma_rows + half * 8;
                    const std::uint32_t to = shared + (of_row * C::warps_across + across) * best_bytes;
                    const TileBest of_warp = best.tile_best();
                    ptx::store_shared(to, of_warp.score);
                    ptx::store_shared(to + 4, of_warp.place);
                    ptx::store_shared(to + 8, of_warp.second);
                }
            }
        }
        __syncthreads();
        if (threadIdx.x < C::rows && row + threadIdx.x < rows) {
            RowBest best;
#pragma unroll
            for (std::uint32_t i = 0; i < C::warps_across; ++i) {
                const std::uint32_t from = shared + (threadIdx.x * C::warps_across + i) * best_bytes;
                const uint4 words = ptx::load_shared_16(from);
                best.merge({__uint_as_float(words.x), words.y, __uint_as_float(words.z)});
            }
            target.bests[std::size_t{row + threadIdx.x} * target.results + column / C::columns] = best.tile_best();
        }
    }
};

/// The same, and ScoreSums at a temperature of 1.
template <class C>
struct MmaBestsAndSumsStore {
    using Target = FloatProductArguments;
    static constexpr std::uint32_t shared_bytes = MmaBestStore<C>::shared_bytes;

    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const Target& target,
                                                 const gemm::MmaSums<C>& sums, std::uint32_t rows, std::uint32_t row,
                                                 std::uint32_t column, std::uint32_t shared) {
        MmaRowsStore<C, StoredPlainSums>::store(arguments, target, sums, rows, row, column, shared);
        MmaBestStore<C>::store(arguments, target, sums, rows, row, column, shared);
    }
};

}  // namespace sluice::decoder
