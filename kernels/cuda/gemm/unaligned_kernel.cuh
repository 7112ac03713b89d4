#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/mma_kernel.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/gemm/mma_store.cuh"
#include "kernels/cuda/gemm/unaligned_rows.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// The kernel of products by mma.sync whose rows begin at any value: operands go through registers, as 16-byte copies
/// cannot move them.
namespace sluice::gemm {

constexpr std::uint32_t unaligned_stages = 2;  // one is filled while the other is multiplied

/// Sums all steps of a tile, in the order of multiply_tile(). Half of a step's copies are in flight while half of the
/// previous step is multiplied: all of them would take more registers than two blocks have.
template <Precision precision, class C>
__device__ __forceinline__ void multiply_unaligned_tile(MmaSums<C>& sums, const UnalignedMatrix& a,
                                                        const UnalignedMatrix& b, std::uint32_t row,
                                                        std::uint32_t column, std::uint8_t* shared,
                                                        std::uint32_t steps) {
    static_assert(mma_step_bytes == 2 * mma_depth_bytes, "two products a step");
    UnalignedRows<C::rows, C::rows_at_once> of_a(a, row);
    UnalignedRows<C::columns, C::rows_at_once> of_b(b, column);
    const auto stage_of = [&](std::uint32_t step) { return step % unaligned_stages * C::stage_bytes; };
    const std::uint32_t first_stage = ptx::shared_address(shared);
    const auto multiply = [&](std::uint32_t step, std::uint32_t k) {
        MmaFragments<C> fragments;
        fragments.load(first_stage + stage_of(step), mma_a_at<C>(), mma_b_at<C>(), k);
        multiply_fragments<precision>(sums, fragments);
    };
    of_a.load(0);
    of_b.load(0);
    of_a.store(shared, 0);
    of_b.store(shared + C::a_bytes, 0);
    __syncthreads();
    for (std::uint32_t step = 0; step < steps; ++step) {
        std::uint8_t* const next = shared + stage_of(step + 1);
        of_a.load(step + 1);  // zeros after the last
        multiply(step, 0);
        of_a.store(next, step + 1);
        of_b.load(step + 1);
        multiply(step, 1);
        of_b.store(next + C::a_bytes, step + 1);
        __syncthreads();  // the next step is stored, and all threads have read what it overwrites
    }
}

/// As NarrowStore, but value by value, for rows that begin anywhere.
template <class Type, class C>
__device__ __forceinline__ void store_unaligned(const Arguments& arguments, const NarrowTarget& target,
                                                const MmaSums<C>& sums, std::uint32_t rows, std::uint32_t row,
                                                std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t first_row = row + warp / C::warps_across * C::warp_rows + lane / 4;
    const std::uint32_t first_column = column + warp % C::warps_across * C::warp_columns + lane % 4 * 2;
    const auto* const residual = static_cast<const std::uint16_t*>(target.residual);
    auto* const out = static_cast<std::uint16_t*>(target.out);
#pragma unroll
    for (std::uint32_t n = 0; n < C::column_products; ++n) {
        const std::uint32_t at = first_column + n * mma_columns;
        const bool exist[] = {at < arguments.columns, at + 1 < arguments.columns};
        const float bias[] = {arguments.bias != nullptr && exist[0] ? arguments.bias[at] : 0.0F,
                              arguments.bias != nullptr && exist[1] ? arguments.bias[at + 1] : 0.0F};
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * C::row_products; ++i) {
            const std::uint32_t of_row = first_row + i * (mma_rows / 2);
            if (of_row >= rows) {
                continue;
            }
            const std::size_t to = std::size_t{of_row} * arguments.columns + at;
            const auto& pair = sums.of[i / 2][n];
            const float scale = arguments.row_scales == nullptr ? 1.0F : arguments.row_scales[of_row];
            float values[] = {fmaf(pair[i % 2 * 2], scale, bias[0]), fmaf(pair[i % 2 * 2 + 1], scale, bias[1])};
            activate<Type>(values, arguments.activation);
            if (residual != nullptr) {
                const std::uint32_t low = exist[0] ? residual[to] : 0U;
                const std::uint32_t high = exist[1] ? residual[to + 1] : 0U;
                float added[8];
                values::unpack({low | high << 16, 0, 0, 0}, added, Type{});
                values[0] += added[0];
                values[1] += added[1];
            }
            const std::uint32_t rounded = values::pack<Type>(values[0], values[1]);
            if (exist[0]) {
                out[to] = static_cast<std::uint16_t>(rounded);
            }
            if (exist[1]) {
                out[to + 1] = static_cast<std::uint16_t>(rounded >> 16);
            }
        }
    }
}

/// One tile after another.
template <Precision precision, class C>
__global__ void __launch_bounds__(C::threads, C::blocks)
    multiply_unaligned(const __grid_constant__ Arguments arguments, const __grid_constant__ MmaOperands operands,
                       const __grid_constant__ NarrowTarget target) {
    extern __shared__ __align__(128) std::uint8_t mma_shared[];
    if (arguments.chained) {
        ptx::let_next_kernel_start();
        ptx::wait_for_previous_kernel();
    }
    const std::uint32_t rows = arguments.active == nullptr ? operands.rows : min(*arguments.active, operands.rows);
    const auto matrix = [&](const std::uint8_t* begin, std::uint32_t all_rows, std::uint32_t active_rows) {
        return UnalignedMatrix{.begin = begin,
                               .end = begin + std::size_t{all_rows} * operands.row_bytes,
                               .rows = active_rows,
                               .row_bytes = operands.row_bytes};
    };
    const UnalignedMatrix a = matrix(operands.a, operands.rows, rows);
    const UnalignedMatrix b = matrix(operands.b, arguments.columns, arguments.columns);
    for (Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const auto row = static_cast<std::uint32_t>(tiles.row());
        const auto column = static_cast<std::uint32_t>(tiles.column());
        MmaSums<C> sums{};
        multiply_unaligned_tile<precision>(sums, a, b, row, column, mma_shared, arguments.steps);
        store_unaligned<values::Narrow<precision>>(arguments, target, sums, rows, row, column);
    }
}

}  // namespace sluice::gemm
