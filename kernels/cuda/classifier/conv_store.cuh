#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/classifier/conv_gemm_shape.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice {

/// The rows of a convolution's product run over all items. Those whose window would cross an item's end are dropped.
/// With pooling this counts groups of rows, one for each maximum.
struct ConvRows {
    static constexpr std::uint32_t nowhere = ~0U;

    std::uint32_t items;
    std::uint32_t of_item;  // in the input
    std::uint32_t kept;     // of them, in the output

    /// The row of the output that row `number` of the product goes to, or nowhere.
    __device__ __forceinline__ std::uint32_t place_of(std::uint32_t number) const {
        const std::uint32_t item = number / of_item;
        const std::uint32_t at = number - item * of_item;
        return item < items && at < kept ? item * kept + at : nowhere;
    }
};

}  // namespace sluice

/// Initialises a convolution's sums with the bias and stores them, by wgmma as by mma.sync. Of 16 rows, lane l of a
/// warp has sums[4 n + 2 i + j] at row l / 4 + 8 i, column 8 n + 2 (l % 4) + j.
namespace sluice::conv {

constexpr std::uint32_t row_bytes = 128;  // of k in shared memory, and of results on their way out
constexpr std::uint32_t unit_bytes = 16;  // of one copy, and of a row of a matrix that is loaded
constexpr std::uint32_t row_units = row_bytes / unit_bytes;
constexpr std::uint32_t warp_rows = 16;       // of a product
constexpr std::uint32_t narrow_columns = 64;  // of two bytes: row_bytes
constexpr std::uint32_t box_bytes = warp_rows * row_bytes;

struct Target {
    void* out;
    ConvRows rows;
    std::uint32_t outputs;
};

[[nodiscard]] inline Target target_of(const ConvGemmShape& shape, std::uint32_t items, const ConvGemmMemory& memory) {
    return {.out = memory.out,
            .rows = {.items = items, .of_item = shape.length / shape.pool, .kept = shape.positions() / shape.pool},
            .outputs = shape.outputs};
}

/// Offset of a 16-byte unit in a matrix of rows of row_bytes.
__device__ __forceinline__ std::uint32_t unit_at(std::uint32_t row, std::uint32_t unit) {
    return row * row_bytes + (unit ^ row % row_units) * unit_bytes;
}

/// The bias of this lane's two columns in the nth eight; `bias` is the address of the warp's first column's.
__device__ __forceinline__ float2 bias_of(const float* bias, std::uint32_t n) {
    return __ldg(reinterpret_cast<const float2*>(bias + 8 * n + threadIdx.x % 4 * 2));
}
/// The same in shared memory.
__device__ __forceinline__ float2 bias_of(std::uint32_t bias, std::uint32_t n) {
    return ptx::load_shared_8(bias + 32 * n + threadIdx.x % 4 * 8);
}

/// Initialises all rows of the products, which are below each other, with the bias.
template <std::uint32_t products, std::uint32_t count, class Bias>
__device__ __forceinline__ void begin_with(float (&sums)[products][count], Bias bias) {
#pragma unroll
    for (std::uint32_t n = 0; n < count / 4; ++n) {
        const float2 two = bias_of(bias, n);
#pragma unroll
        for (auto& product : sums) {
            product[4 * n] = product[4 * n + 2] = two.x;
            product[4 * n + 1] = product[4 * n + 3] = two.y;
        }
    }
}

/// Sets the first product's sums to the maximum of all products'; a NaN stays one.
template <std::uint32_t products, std::uint32_t count>
__device__ __forceinline__ void take_largest(float (&sums)[products][count]) {
#pragma unroll
    for (std::uint32_t i = 0; i < count; ++i) {
#pragma unroll
        for (std::uint32_t m = 1; m < products; ++m) {
            sums[0][i] = ptx::larger_or_nan(sums[0][i], sums[m][i]);
        }
    }
}

// Below, `column` is the warp's first, and lane l's `place` the destination of row l % 16, or nowhere.

/// Stores whole lines of 128 bytes from rows of 64 values in shared memory.
template <class T>
__device__ __forceinline__ void store_box(const Target& target, std::uint32_t place, std::uint32_t column,
                                          std::uint32_t box) {
    const std::uint32_t lane = threadIdx.x % 32;
    auto* const out = static_cast<T*>(target.out) + column + lane % row_units * (unit_bytes / sizeof(T));
    constexpr std::uint32_t rows_at_once = 32 / row_units;
    constexpr std::uint32_t times = warp_rows / rows_at_once;
    std::uint32_t to[times];
    uint4 units[times];
#pragma unroll
    for (std::uint32_t i = 0; i < times; ++i) {
        const std::uint32_t row = lane / row_units + rows_at_once * i;
        to[i] = __shfl_sync(~0U, place, static_cast<int>(row));
        units[i] = ptx::load_shared_16(box + unit_at(row, lane % row_units));
    }
#pragma unroll
    for (std::uint32_t i = 0; i < times; ++i) {
        if (to[i] != ConvRows::nowhere) {
            ptx::store_global_16(out + std::size_t{to[i]} * target.outputs, units[i]);
        }
    }
}

/// Stores tf32 values: four threads write the 32 bytes of a sector.
template <bool relu, std::uint32_t count>
__device__ __forceinline__ void store_tf32(const Target& target, const float (&sums)[count], std::uint32_t place,
                                           std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t to = __shfl_sync(~0U, place, static_cast<int>(lane / 4 + 8 * i));
        if (to != ConvRows::nowhere) {
            auto* const out = static_cast<float*>(target.out) + std::size_t{to} * target.outputs + column;
#pragma unroll
            for (std::uint32_t n = 0; n < count / 4; ++n) {
                reinterpret_cast<float2*>(out)[n * 4 + lane % 4] = {values::round_tf32<relu>(sums[4 * n + 2 * i]),
                                                                    values::round_tf32<relu>(sums[4 * n + 2 * i + 1])};
            }
        }
    }
}

/// The same for values in two parts. Adds the bias only here: next to it the sums of small products would be truncated.
template <bool relu, std::uint32_t count, class Bias>
__device__ __forceinline__ void store_in_parts(const Target& target, const float (&sums)[count], std::uint32_t place,
                                               std::uint32_t column, Bias bias) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t to = __shfl_sync(~0U, place, static_cast<int>(lane / 4 + 8 * i));
        if (to != ConvRows::nowhere) {
            auto* const first = static_cast<float*>(target.out) + std::size_t{to} * 2 * target.outputs + column;
            auto* const second = first + target.outputs;
#pragma unroll
            for (std::uint32_t n = 0; n < count / 4; ++n) {
                const float2 two = bias_of(bias, n);
                const float2 a = values::split_tf32<relu>(sums[4 * n + 2 * i] + two.x);
                const float2 b = values::split_tf32<relu>(sums[4 * n + 2 * i + 1] + two.y);
                reinterpret_cast<float2*>(first)[n * 4 + lane % 4] = {a.x, b.x};
                reinterpret_cast<float2*>(second)[n * 4 + lane % 4] = {a.y, b.y};
            }
        }
    }
}

}  // namespace sluice::conv
