#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/transpose.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// Epilogue of Gemm's kernel by mma.sync.
namespace sluice::gemm {

struct NarrowTarget {
    const void* residual;  // null for none
    void* out;
};

/// Stores two-byte values, eight of a row per lane: four lanes have two columns each of four times eight, and exchange
/// them.
template <class Type, class C>
struct NarrowStore {
    using Target = NarrowTarget;
    static constexpr std::uint32_t shared_bytes = 0;

    __device__ __forceinline__ static void store(const Arguments& arguments, const Target& target,
                                                 const MmaSums<C>& sums, std::uint32_t rows, std::uint32_t row,
                                                 std::uint32_t column, std::uint32_t) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t warp = threadIdx.x / 32;
        const std::uint32_t first_row = row + warp / C::warps_across * C::warp_rows + lane / 4;
        const std::uint32_t first_column = column + warp % C::warps_across * C::warp_columns;
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products; n += 4) {
            float2 bias[4];
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                const std::uint32_t at = first_column + (n + j) * mma_columns + lane % 4 * 2;
                bias[j] = arguments.bias != nullptr && at < arguments.columns
                              ? *reinterpret_cast<const float2*>(arguments.bias + at)
                              : float2{0, 0};
            }
            const std::uint32_t at = first_column + (n + lane % 4) * mma_columns;
#pragma unroll
            for (std::uint32_t m = 0; m < C::row_products; ++m) {
#pragma unroll
                for (std::uint32_t half = 0; half < 2; ++half) {
                    const std::uint32_t of_row = first_row + m * mma_rows + half * 8;
                    const float scale =
                        arguments.row_scales != nullptr && of_row < rows ? arguments.row_scales[of_row] : 1;
                    float values[8];
#pragma unroll
                    for (std::uint32_t j = 0; j < 4; ++j) {
                        values[2 * j] = fmaf(sums.of[m][n + j][2 * half], scale, bias[j].x);
                        values[2 * j + 1] = fmaf(sums.of[m][n + j][2 * half + 1], scale, bias[j].y);
                    }
                    store_eight(arguments, target, values, std::size_t{of_row} * arguments.columns + at,
                                of_row < rows && at < arguments.columns);
                }
            }
        }
    }

private:
    /// `values`: this lane's of four times eight columns; `at`: offset of the eight that it stores, if they `exist`.
    __device__ __forceinline__ static void store_eight(const Arguments& arguments, const Target& target,
                                                       float (&values)[8], std::size_t at, bool exist) {
        activate<Type>(values, arguments.activation);
        if (target.residual != nullptr) {
            const uint4 others =
                exist ? *reinterpret_cast<const uint4*>(static_cast<const Type*>(target.residual) + at) : uint4{};
            std::uint32_t words[4] = {others.x, others.y, others.z, others.w};
            transpose_among_four(words);
            float added[8];
            values::unpack({words[0], words[1], words[2], words[3]}, added, Type{});
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
                values[i] += added[i];
            }
        }
        std::uint32_t words[4];
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            words[i] = values::pack<Type>(values[2 * i], values[2 * i + 1]);
        }
        transpose_among_four(words);
        if (exist) {
            ptx::store_global_16(static_cast<Type*>(target.out) + at, {words[0], words[1], words[2], words[3]});
        }
    }
};

}  // namespace sluice::gemm
