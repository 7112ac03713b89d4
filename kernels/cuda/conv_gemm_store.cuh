#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/conv_gemm_layout.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/ptx_sm90a.cuh"
#include "kernels/cuda/values.cuh"
#include "kernels/cuda/wgmma.cuh"

/// From a warpgroup's sums to the output, in ConvGemm's kernel.
namespace sluice::conv_gemm {

/// The output's rows for a warp's 16 rows of each product, kept by the warp's lanes: computed before the products,
/// which hide the time that it takes.
template <bool pooled>
struct OutputRows {
    std::uint32_t first;   // lane l: row l % 16 of product l / 16
    std::uint32_t second;  // row l % 16 of product 2

    __device__ OutputRows(const Arguments& arguments, std::uint32_t row_tile, std::uint32_t warp) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t row = warp * staging_rows + lane % staging_rows;
        const std::uint32_t number = row_tile * (pooled ? product_rows : tile_rows) + row;
        first = arguments.rows.place_of(number + lane / staging_rows * product_rows);
        second = pooled ? ConvRows::nowhere : arguments.rows.place_of(number + 2 * product_rows);
    }
    /// Of row `row` of `product`; all lanes of the warp ask at once.
    __device__ __forceinline__ std::uint32_t at(std::uint32_t product, std::uint32_t row) const {
        return product < 2 ? __shfl_sync(~0U, first, static_cast<int>(product * staging_rows + row))
                           : __shfl_sync(~0U, second, static_cast<int>(row));
    }
};

/// One product's rows of this warp, 64 columns at a time through shared memory, so that whole lines of 128 bytes are
/// written.
template <class Type, bool relu, bool pooled>
__device__ __forceinline__ void store_narrow(const Arguments& arguments, const float (&sum)[64], std::uint32_t product,
                                             const OutputRows<pooled>& rows, std::uint32_t column,
                                             std::uint32_t staging) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t matrix_row = lane % 16;
    auto* out = static_cast<Type*>(arguments.out) + column + lane % 8 * 8;
    std::uint32_t to[4];  // rows that this lane writes to
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
        to[i] = rows.at(product, lane / 8 + 4 * i);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            const float* s = sum + (half * 8 + pair * 2) * 4;
            const std::uint32_t chunk = pair * 2 + lane / 16;
            ptx::store_matrices(staging + matrix_row * row_bytes + ((chunk ^ (matrix_row % 8)) * 16),
                                values::pack<Type, relu>(s[0], s[1]), values::pack<Type, relu>(s[2], s[3]),
                                values::pack<Type, relu>(s[4], s[5]), values::pack<Type, relu>(s[6], s[7]));
        }
        __syncwarp();
        uint4 v[4];
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint32_t r = lane / 8 + 4 * i;
            v[i] = ptx::load_shared_16(staging + r * row_bytes + ((lane % 8) ^ (r % 8)) * 16);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            if (to[i] != ConvRows::nowhere) {
                ptx::store_global_16(out + std::size_t{to[i]} * arguments.outputs + half * 64, v[i]);
            }
        }
        __syncwarp();
    }
}

/// The same for fp32: four threads write the 32 bytes of a sector.
template <bool relu, bool pooled>
__device__ __forceinline__ void store_tf32(const Arguments& arguments, const float (&sum)[64], std::uint32_t product,
                                           const OutputRows<pooled>& rows, std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t upper = 0; upper < 2; ++upper) {
        const std::uint32_t to = rows.at(product, lane / 4 + 8 * upper);
        if (to != ConvRows::nowhere) {
            float* out = static_cast<float*>(arguments.out) + std::size_t{to} * arguments.outputs + column;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                reinterpret_cast<float2*>(out)[lane % 4 + 4 * j] = {
                    values::round_tf32<relu>(sum[4 * j + 2 * upper]),
                    values::round_tf32<relu>(sum[4 * j + 2 * upper + 1])};
            }
        }
    }
}

/// The same for values in two parts. `bias` is the address of this thread's first column's.
template <bool relu, bool pooled>
__device__ __forceinline__ void store_in_parts(const Arguments& arguments, const float (&sum)[64],
                                               std::uint32_t product, const OutputRows<pooled>& rows,
                                               std::uint32_t column, std::uint32_t bias) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t upper = 0; upper < 2; ++upper) {
        const std::uint32_t to = rows.at(product, lane / 4 + 8 * upper);
        if (to != ConvRows::nowhere) {
            float* const first = static_cast<float*>(arguments.out) + std::size_t{to} * 2 * arguments.outputs + column;
            float* const second = first + arguments.outputs;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                const float2 two = ptx::load_shared_8(bias + j * 32);
                const float2 a = values::split_tf32<relu>(sum[4 * j + 2 * upper] + two.x);
                const float2 b = values::split_tf32<relu>(sum[4 * j + 2 * upper + 1] + two.y);
                reinterpret_cast<float2*>(first)[lane % 4 + 4 * j] = {a.x, b.x};
                reinterpret_cast<float2*>(second)[lane % 4 + 4 * j] = {a.y, b.y};
            }
        }
    }
}

template <class Type, bool relu, bool pooled>
__device__ __forceinline__ void store(const Arguments& arguments, float (&sums)[products][64],
                                      const OutputRows<pooled>& rows, std::uint32_t column, std::uint32_t bias,
                                      std::uint32_t staging) {
    if constexpr (pooled) {
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            sums[0][i] = fmaxf(fmaxf(sums[0][i], sums[1][i]), sums[2][i]);
        }
    }
#pragma unroll
    for (std::uint32_t m = 0; m < (pooled ? 1 : products); ++m) {
        if constexpr (std::is_same_v<Type, wgmma::Tf32>) {
            store_tf32<relu>(arguments, sums[m], m, rows, column);
        } else if constexpr (std::is_same_v<Type, values::Tf32x3>) {
            store_in_parts<relu>(arguments, sums[m], m, rows, column, bias);
        } else {
            store_narrow<Type, relu>(arguments, sums[m], m, rows, column, staging);
        }
    }
}

}  // namespace sluice::conv_gemm
