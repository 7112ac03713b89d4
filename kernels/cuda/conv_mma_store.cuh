#pragma once

#include <cstdint>

#include "kernels/cuda/conv_mma_layout.cuh"
#include "kernels/cuda/precision.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/values.cuh"

/// From the bias to a warp's sums, and from those to the output, in ConvMma's kernel.
namespace sluice::conv_mma {

/// This lane's two columns of product n. `bias`: of the warp's first column.
__device__ __forceinline__ float2 bias_of(const float* bias, std::uint32_t n) {
    return __ldg(reinterpret_cast<const float2*>(bias + n * product_columns + threadIdx.x % 4 * 2));
}

/// Lane l has of[m][n][2 i + j] at row l / 4 + 8 i of product m, column 8 n + 2 (l % 4) + j.
template <bool pooled>
struct Sums {
    float of[row_products(pooled)][column_products][4];

    /// `bias`: of the warp's first column; null: none yet.
    __device__ explicit Sums(const float* bias) {
#pragma unroll
        for (std::uint32_t n = 0; n < column_products; ++n) {
            const float2 two = bias == nullptr ? float2{} : bias_of(bias, n);
#pragma unroll
            for (auto& product : of) {
                product[n][0] = product[n][2] = two.x;
                product[n][1] = product[n][3] = two.y;
            }
        }
    }
};

/// One product's rows, through shared memory, so that whole lines of 128 bytes are written. `place`: lane l has where
/// row l % 16 goes.
template <class T, bool relu>
__device__ __forceinline__ void store_narrow(const Arguments& arguments, const float (&sums)[column_products][4],
                                             std::uint32_t place, std::uint32_t column, std::uint32_t staging) {
    static_assert(warp_columns * sizeof(T) == row_bytes);
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t n = 0; n < column_products; ++n) {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            ptx::store_shared(staging + unit_at(lane / 4 + 8 * i, n) + lane % 4 * 4,
                              values::pack<T, relu>(sums[n][2 * i], sums[n][2 * i + 1]));
        }
    }
    __syncwarp();
    auto* const out = static_cast<T*>(arguments.out) + column + lane % row_units * 8;
#pragma unroll
    for (std::uint32_t first = 0; first < product_rows; first += 32 / row_units) {
        const std::uint32_t row = first + lane / row_units;
        const std::uint32_t to = __shfl_sync(~0U, place, static_cast<int>(row));
        const uint4 unit = ptx::load_shared_16(staging + unit_at(row, lane % row_units));
        if (to != ConvRows::nowhere) {
            ptx::store_global_16(out + std::size_t{to} * arguments.outputs, unit);
        }
    }
    __syncwarp();
}

/// The same for fp32: four threads write the 32 bytes of a sector.
template <bool relu>
__device__ __forceinline__ void store_tf32(const Arguments& arguments, const float (&sums)[column_products][4],
                                           std::uint32_t place, std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t to = __shfl_sync(~0U, place, static_cast<int>(lane / 4 + 8 * i));
        if (to != ConvRows::nowhere) {
            auto* const out = static_cast<float*>(arguments.out) + std::size_t{to} * arguments.outputs + column;
#pragma unroll
            for (std::uint32_t n = 0; n < column_products; ++n) {
                reinterpret_cast<float2*>(out)[n * 4 + lane % 4] = {values::round_tf32<relu>(sums[n][2 * i]),
                                                                    values::round_tf32<relu>(sums[n][2 * i + 1])};
            }
        }
    }
}

/// The same for values in two parts.
template <bool relu>
__device__ __forceinline__ void store_in_parts(const Arguments& arguments, const float (&sums)[column_products][4],
                                               std::uint32_t place, std::uint32_t column, const float* bias) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t to = __shfl_sync(~0U, place, static_cast<int>(lane / 4 + 8 * i));
        if (to != ConvRows::nowhere) {
            auto* const first = static_cast<float*>(arguments.out) + std::size_t{to} * 2 * arguments.outputs + column;
            auto* const second = first + arguments.outputs;
#pragma unroll
            for (std::uint32_t n = 0; n < column_products; ++n) {
                const float2 two = bias_of(bias, n);
                const float2 a = values::split_tf32<relu>(sums[n][2 * i] + two.x);
                const float2 b = values::split_tf32<relu>(sums[n][2 * i + 1] + two.y);
                reinterpret_cast<float2*>(first)[n * 4 + lane % 4] = {a.x, b.x};
                reinterpret_cast<float2*>(second)[n * 4 + lane % 4] = {a.y, b.y};
            }
        }
    }
}

/// `row`, `column`, `bias`: of the warp's first product.
template <Precision precision, bool relu, bool pooled>
__device__ __forceinline__ void store(const Arguments& arguments, Sums<pooled>& sums, std::uint32_t row,
                                      std::uint32_t column, const float* bias, std::uint32_t staging) {
    if constexpr (pooled) {
#pragma unroll
        for (std::uint32_t n = 0; n < column_products; ++n) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                sums.of[0][n][i] = fmaxf(fmaxf(sums.of[0][n][i], sums.of[1][n][i]), sums.of[2][n][i]);
            }
        }
    }
    const std::uint32_t first = (pooled ? row / pooled_rows : row) + threadIdx.x % product_rows;
#pragma unroll
    for (std::uint32_t m = 0; m < (pooled ? 1 : row_products(pooled)); ++m) {
        const std::uint32_t place = arguments.rows.place_of(first + m * product_rows);
        if constexpr (precision == Precision::tf32) {
            store_tf32<relu>(arguments, sums.of[m], place, column);
        } else if constexpr (precision == Precision::tf32x3) {
            store_in_parts<relu>(arguments, sums.of[m], place, column, bias);
        } else {
            store_narrow<values::Narrow<precision>, relu>(arguments, sums.of[m], place, column, staging);
        }
    }
}

}  // namespace sluice::conv_mma
