#pragma once

#include <cstdint>

#include "kernels/cuda/classifier/conv_mma_layout.cuh"
#include "kernels/cuda/classifier/conv_parts.hpp"
#include "kernels/cuda/classifier/conv_store.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// The convolution's kernel by mma.sync. 16-byte units are swizzled by their row's number, so that copies and loads
/// have no bank conflicts, whichever row a tap begins at.
namespace sluice::conv_mma {

/// Copies the operands of `step` that earlier steps have not, as one group; an empty one if there is no such step.
template <bool in_two>
__device__ __forceinline__ void fetch(const Arguments& arguments, const ConvParts<in_two>& parts, const Layout& layout,
                                      const Step& step, std::uint32_t row, std::uint32_t column) {
    constexpr std::uint32_t rows_at_once = threads / row_units;
    const std::uint32_t first = threadIdx.x / row_units;
    const std::uint32_t unit = threadIdx.x % row_units;
    if (step.piece < parts.pieces()) {
        if (step.tap == 0) {
            const std::uint32_t channel = parts.input(step.piece) * row_bytes + unit * unit_bytes;
            const std::uint32_t to = layout.input(arguments, step);
            for (std::uint32_t r = first; r < arguments.copied_rows; r += rows_at_once) {
                const bool present = row + r < arguments.input_rows;
                const std::uint8_t* from =
                    arguments.in + std::size_t{present ? row + r : 0} * arguments.channel_bytes + channel;
                ptx::copy_16(to + conv::unit_at(r, unit), from, present);
            }
        }
        const std::uint32_t channel = parts.weights(step.piece) * row_bytes + unit * unit_bytes;
        const std::uint32_t to = layout.weights(step);
        const std::size_t pitch = std::size_t{arguments.taps} * arguments.channel_bytes;
        const std::uint8_t* from =
            arguments.weights + (column + first) * pitch + step.tap * arguments.channel_bytes + channel;
#pragma unroll
        for (std::uint32_t r = 0; r < tile_columns; r += rows_at_once) {
            ptx::copy_16(to + conv::unit_at(first + r, unit), from + r * pitch, true);
        }
    }
    ptx::commit_copies();
}

/// A warp's operands for 32 bytes of k, and their loads.
template <class C>
class Operands {
public:
    /// `row`, `column`: the first of the warp's first product in the tile.
    __device__ Operands(std::uint32_t row, std::uint32_t column) {
        const std::uint32_t lane = threadIdx.x % 32;
        row_ = row + lane % 16 * (C::pooled ? C::row_products : 1);
        half_ = lane / 16;
        column_ = column + lane / 16 * 8 + lane % 8;
        column_half_ = lane / 8 % 2;
    }

    /// `input`, `weights`: addresses of the step's matrices; `k`: in units of 32 bytes.
    __device__ __forceinline__ void load(std::uint32_t input, std::uint32_t weights, std::uint32_t tap,
                                         std::uint32_t k) {
#pragma unroll
        for (std::uint32_t m = 0; m < C::row_products; ++m) {
            const std::uint32_t row = row_ + (C::pooled ? m : m * gemm::mma_rows) + tap;
            mma::load_matrices(a[m], input + conv::unit_at(row, 2 * k + half_));
        }
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products / 2; ++n) {
            mma::load_matrices(b[n], weights + conv::unit_at(column_ + n * 16, 2 * k + column_half_));
        }
    }

    std::uint32_t a[C::row_products][4];
    std::uint32_t b[C::column_products / 2][4];  // two products' columns each

private:
    std::uint32_t row_;     // whose address this lane gives for the first product
    std::uint32_t half_;    // of the 32 bytes
    std::uint32_t column_;  // the same for the weights
    std::uint32_t column_half_;
};

template <Precision factor, class C>
__device__ __forceinline__ void multiply(float (&sums)[C::row_products][C::column_products * 4],
                                         const Operands<C>& operands) {
#pragma unroll
    for (std::uint32_t m = 0; m < C::row_products; ++m) {
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products; ++n) {
            const auto& b = operands.b[n / 2];
            mma::multiply<factor>(reinterpret_cast<float(&)[4]>(sums[m][4 * n]), operands.a[m], b[n % 2 * 2],
                                  b[n % 2 * 2 + 1]);
        }
    }
}

/// `row`: the warp's first among all items' rows, with pooling in groups of three; `column`, `bias`: at its first
/// column.
template <Precision precision, bool relu, class C>
__device__ __forceinline__ void store(const conv::Target& target,
                                      float (&sums)[C::row_products][C::column_products * 4], std::uint32_t row,
                                      std::uint32_t column, const float* bias, std::uint32_t box) {
    const std::uint32_t lane = threadIdx.x % 32;
    if constexpr (C::pooled) {
        conv::take_largest(sums);
    }
#pragma unroll
    for (std::uint32_t m = 0; m < (C::pooled ? 1 : C::row_products); ++m) {
        const std::uint32_t place = target.rows.place_of(row + lane % conv::warp_rows + m * gemm::mma_rows);
        if constexpr (precision == Precision::tf32) {
            conv::store_tf32<relu>(target, sums[m], place, column);
        } else if constexpr (precision == Precision::tf32x3) {
            conv::store_in_parts<relu>(target, sums[m], place, column, bias);
        } else {
            using Type = values::Narrow<precision>;
#pragma unroll
            for (std::uint32_t n = 0; n < C::column_products; ++n) {
#pragma unroll
                for (std::uint32_t i = 0; i < 2; ++i) {
                    ptx::store_shared(box + conv::unit_at(lane / 4 + 8 * i, n) + lane % 4 * 4,
                                      values::pack<Type, relu>(sums[m][4 * n + 2 * i], sums[m][4 * n + 2 * i + 1]));
                }
            }
            __syncwarp();
            conv::store_box<Type>(target, place, column, box);
            __syncwarp();
        }
    }
}

template <Precision precision, bool relu, class C>
__global__ void __launch_bounds__(threads, blocks) convolve(const __grid_constant__ Arguments arguments) {
    extern __shared__ __align__(row_bytes) std::uint8_t shared[];
    constexpr bool in_two_parts = parts_of(precision) == 2;
    const Layout layout{ptx::shared_address(shared)};
    const std::uint32_t column_tiles = arguments.target.outputs / tile_columns;
    const std::uint32_t column = blockIdx.x % column_tiles * tile_columns;  // neighbouring blocks read the same rows
    const std::uint32_t row = blockIdx.x / column_tiles * C::rows;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t warp_row = warp / warps_across * C::row_products * gemm::mma_rows;
    const std::uint32_t warp_column = warp % warps_across * warp_columns;
    Operands<C> operands[2] = {{warp_row, warp_column}, {warp_row, warp_column}};
    const ConvParts<in_two_parts> parts(arguments.part_pieces);
    const float* const bias = arguments.bias + column + warp_column;
    float sums[C::row_products][C::column_products * 4] = {};
    if constexpr (!in_two_parts) {
        conv::begin_with(sums, bias);
    }
    Step ahead;
    for (std::uint32_t i = 0; i < lead; ++i, ahead.next(arguments)) {
        fetch(arguments, parts, layout, ahead, row, column);
    }
    for (Step step; step.piece < parts.pieces(); step.next(arguments), ahead.next(arguments)) {
        ptx::wait_for_copies<lead - 1>();
        __syncthreads();  // this step's copies have arrived, and no thread reads the stages that are filled next
        fetch(arguments, parts, layout, ahead, row, column);
        const std::uint32_t input = layout.input(arguments, step);
        const std::uint32_t weights = layout.weights(step);
        operands[0].load(input, weights, step.tap, 0);
#pragma unroll
        for (std::uint32_t k = 0; k < row_units / 2; ++k) {
            if (k + 1 < row_units / 2) {
                operands[(k + 1) % 2].load(input, weights, step.tap, k + 1);
            }
            multiply<in_two_parts ? Precision::tf32 : precision, C>(sums, operands[k % 2]);
        }
    }
    __syncthreads();  // no thread reads the stages any more
    store<precision, relu, C>(arguments.target, sums, (row + warp_row) / (C::pooled ? C::row_products : 1),
                              column + warp_column, bias, layout.box(warp));
}

}  // namespace sluice::conv_mma
