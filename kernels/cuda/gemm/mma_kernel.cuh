#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

/// The kernel of products by mma.sync, for any epilogue.
namespace sluice::gemm {

/// A thread's part of the copies for a tile: one unit of every rows_at_once-th row. Rows after the last one are copies
/// of it, whose sums are not used.
template <class C>
class MmaCopies {
public:
    __device__ __forceinline__ MmaCopies(const MmaOperands& operands, std::uint32_t columns, std::uint32_t row,
                                         std::uint32_t column)
        : a_(operands.a + std::size_t{row} * operands.row_bytes),
          b_(operands.b + std::size_t{column} * operands.row_bytes),
          last_a_(operands.rows - 1 - row),
          last_b_(columns - 1 - column),
          row_bytes_(operands.row_bytes) {}

    /// Starts the copies of the first steps, into all stages but one.
    __device__ __forceinline__ void begin(std::uint32_t shared, std::uint32_t steps) const {
#pragma unroll
        for (std::uint32_t step = 0; step + 1 < C::stages; ++step) {
            copy(shared + step * C::stage_bytes, step, steps);
        }
    }

    /// Starts a step's copies, as one group: an empty one if there is no such step. Depth beyond the end is zero.
    __device__ __forceinline__ void copy(std::uint32_t stage, std::uint32_t step, std::uint32_t steps) const {
        if (step < steps) {
            const std::uint32_t first = threadIdx.x / mma_row_units;
            const std::uint32_t unit = threadIdx.x % mma_row_units;
            const std::uint32_t at = step * mma_step_bytes + unit * mma_unit_bytes;
            const bool present = at < row_bytes_;
            const std::uint8_t* const from_a = a_ + (present ? at : 0);
            const std::uint8_t* const from_b = b_ + (present ? at : 0);
            const std::uint32_t to = stage + mma_unit_at(first, unit);  // rows_at_once is a multiple of the pattern
            static_assert(C::rows_at_once % 8 == 0);
#pragma unroll
            for (std::uint32_t i = 0; i < C::rows / C::rows_at_once; ++i) {
                const std::uint32_t row = min(first + i * C::rows_at_once, last_a_);
                ptx::copy_16(to + i * C::rows_at_once * mma_step_bytes, from_a + std::size_t{row} * row_bytes_,
                             present);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < C::columns / C::rows_at_once; ++i) {
                const std::uint32_t row = min(first + i * C::rows_at_once, last_b_);
                ptx::copy_16(to + C::a_bytes + i * C::rows_at_once * mma_step_bytes,
                             from_b + std::size_t{row} * row_bytes_, present);
            }
        }
        ptx::commit_copies();
    }

private:
    const std::uint8_t* a_;  // the tile's first row
    const std::uint8_t* b_;
    std::uint32_t last_a_;  // row, counted from the tile's first
    std::uint32_t last_b_;
    std::uint32_t row_bytes_;
};

/// Offsets in a stage of this lane's rows of the warp's first matrices, of a and of b.
template <class C>
__device__ __forceinline__ std::uint32_t mma_a_at() {
    return mma_unit_at(threadIdx.x / 32 / C::warps_across * C::warp_rows + threadIdx.x % 16, threadIdx.x % 32 / 16);
}
template <class C>
__device__ __forceinline__ std::uint32_t mma_b_at() {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    return C::a_bytes +
           mma_unit_at(warp % C::warps_across * C::warp_columns + lane / 16 * mma_columns + lane % 8, lane / 8 % 2);
}

/// A warp's operands for 32 bytes of depth.
template <class C>
struct MmaFragments {
    std::uint32_t a[C::row_products][4];
    std::uint32_t b[C::column_products / 2][4];  // two products' columns each

    /// `a_at`, `b_at`: from mma_a_at() and mma_b_at().
    __device__ __forceinline__ void load(std::uint32_t stage, std::uint32_t a_at, std::uint32_t b_at, std::uint32_t k) {
        const std::uint32_t a_first = stage + (a_at ^ k * mma_depth_bytes);
        const std::uint32_t b_first = stage + (b_at ^ k * mma_depth_bytes);
#pragma unroll
        for (std::uint32_t m = 0; m < C::row_products; ++m) {
            mma::load_matrices(a[m], a_first + m * mma_rows * mma_step_bytes);
        }
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products / 2; ++n) {
            mma::load_matrices(b[n], b_first + n * 2 * mma_columns * mma_step_bytes);
        }
    }
};

template <Precision precision, class C>
__device__ __forceinline__ void multiply_fragments(MmaSums<C>& sums, const MmaFragments<C>& fragments) {
#pragma unroll
    for (std::uint32_t m = 0; m < C::row_products; ++m) {
#pragma unroll
        for (std::uint32_t n = 0; n < C::column_products; ++n) {
            const auto& b = fragments.b[n / 2];
            mma::multiply<precision>(sums.of[m][n], fragments.a[m], b[n % 2 * 2], b[n % 2 * 2 + 1]);
        }
    }
}

/// Sums all steps of a tile whose first copies have been started. Operands are loaded one product ahead, also of the
/// next step: after the last barrier no thread reads the stages.
template <Precision precision, class C>
__device__ __forceinline__ void multiply_tile(MmaSums<C>& sums, const MmaCopies<C>& copies, std::uint32_t shared,
                                              std::uint32_t steps) {
    static_assert(mma_step_bytes == 2 * mma_depth_bytes, "two products a step");
    const std::uint32_t a_at = mma_a_at<C>();
    const std::uint32_t b_at = mma_b_at<C>();
    MmaFragments<C> fragments[2];
    std::uint32_t read = shared;
    std::uint32_t filled = shared + (C::stages - 1) * C::stage_bytes;
    const auto next = [&](std::uint32_t stage) {
        return stage == shared + (C::stages - 1) * C::stage_bytes ? shared : stage + C::stage_bytes;
    };
    ptx::wait_for_copies<static_cast<int>(C::stages) - 2>();
    __syncthreads();
    fragments[0].load(read, a_at, b_at, 0);
    for (std::uint32_t step = 0; step < steps; ++step) {
        fragments[1].load(read, a_at, b_at, 1);
        copies.copy(filled, step + C::stages - 1, steps);
        multiply_fragments<precision>(sums, fragments[0]);
        filled = next(filled);
        read = next(read);
        ptx::wait_for_copies<static_cast<int>(C::stages) - 2>();
        __syncthreads();  // the next step's copies have arrived, and all threads have loaded what is filled next
        if (step + 1 < steps) {
            fragments[0].load(read, a_at, b_at, 0);
        }
        multiply_fragments<precision>(sums, fragments[1]);
    }
}

/// One tile after another. Epilogue::store() takes a tile's sums; it may use Epilogue::shared_bytes after the stages,
/// which no warp touches before the next barrier.
template <Precision precision, class C, class Epilogue>
__global__ void __launch_bounds__(C::threads, C::blocks)
    multiply_by_mma(const __grid_constant__ Arguments arguments, const __grid_constant__ MmaOperands operands,
                    const __grid_constant__ typename Epilogue::Target target) {
    extern __shared__ __align__(128) std::uint8_t mma_shared[];
    if (arguments.chained) {
        ptx::let_next_kernel_start();
        ptx::wait_for_previous_kernel();
    }
    Tiles<C> tiles(arguments);
    if (!tiles.any()) {
        return;
    }
    const std::uint32_t shared = ptx::shared_address(mma_shared);
    const auto copies_of_tile = [&] {
        return MmaCopies<C>(operands, arguments.columns, static_cast<std::uint32_t>(tiles.row()),
                            static_cast<std::uint32_t>(tiles.column()));
    };
    MmaCopies<C> copies = copies_of_tile();
    copies.begin(shared, arguments.steps);
    const std::uint32_t rows = arguments.active == nullptr ? operands.rows : min(*arguments.active, operands.rows);
    while (true) {
        MmaSums<C> sums{};
        multiply_tile<precision>(sums, copies, shared, arguments.steps);
        const auto row = static_cast<std::uint32_t>(tiles.row());
        const auto column = static_cast<std::uint32_t>(tiles.column());
        tiles.next();
        const bool more = tiles.any();
        if (more) {  // in flight while this tile is stored
            copies = copies_of_tile();
            copies.begin(shared, arguments.steps);
        }
        Epilogue::store(arguments, target, sums, rows, row, column, shared + C::stages_bytes);
        if (!more) {
            return;
        }
    }
}

}  // namespace sluice::gemm
