#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/launch.hpp"

/// Arguments, tiles and shared-memory layout of the kernel by mma.sync.
namespace sluice::gemm {

constexpr std::uint32_t mma_rows = 16;         // of one mma
constexpr std::uint32_t mma_columns = 8;       // of one mma
constexpr std::uint32_t mma_depth_bytes = 32;  // of one mma
constexpr std::uint32_t mma_step_bytes = 64;   // of depth in a step: a row of shared memory
constexpr std::uint32_t mma_unit_bytes = 16;   // of one copy, and of a row of a matrix that is loaded
constexpr std::uint32_t mma_row_units = mma_step_bytes / mma_unit_bytes;

/// A variant of the kernel: each of `warps_down` times `warps_across` warps has the sums of `row_products` times
/// `column_products` products of 16 by 8; all share a ring of `stages`; `blocks` blocks share a multiprocessor.
template <std::uint32_t warps_down_, std::uint32_t warps_across_, std::uint32_t row_products_,
          std::uint32_t column_products_, std::uint32_t stages_, std::uint32_t blocks_>
struct MmaConfig {
    static constexpr std::uint32_t warps_across = warps_across_;
    static constexpr std::uint32_t row_products = row_products_;
    static constexpr std::uint32_t column_products = column_products_;
    static constexpr std::uint32_t stages = stages_;
    static constexpr std::uint32_t blocks = blocks_;

    static constexpr std::uint32_t warp_rows = row_products * mma_rows;
    static constexpr std::uint32_t warp_columns = column_products * mma_columns;
    static constexpr std::uint32_t rows = warps_down_ * warp_rows;
    static constexpr std::uint32_t columns = warps_across * warp_columns;
    static constexpr std::uint32_t threads = 32 * warps_down_ * warps_across;
    static constexpr std::uint32_t rows_at_once = threads / mma_row_units;  // that all threads copy a unit each of
    static constexpr std::uint32_t a_bytes = rows * mma_step_bytes;
    static constexpr std::uint32_t stage_bytes = a_bytes + columns * mma_step_bytes;
    static constexpr std::uint32_t stages_bytes = stages * stage_bytes;

    // For Tiles: there are no clusters.
    static constexpr std::uint32_t cluster_rows = 1;
    static constexpr std::uint32_t cluster_columns = 1;
    static constexpr std::uint32_t cluster = 1;

    static constexpr std::uint32_t most_shared_bytes = least_shared_bytes;
    static_assert(rows % rows_at_once == 0 && columns % rows_at_once == 0 && column_products % 4 == 0);
    static_assert(stages >= 3 && stages_bytes <= most_shared_bytes);
};

struct MmaOperands {
    const std::uint8_t* a;    // (rows, row_bytes)
    const std::uint8_t* b;    // (columns, row_bytes)
    std::uint32_t rows;       // of a
    std::uint32_t row_bytes;  // a multiple of 16, except in unaligned products
};

/// A warp's sums: of product (m, n), lane l has [2 i + j] at row 16 m + l / 4 + 8 i, column 8 n + 2 (l % 4) + j.
template <class C>
struct MmaSums {
    float of[C::row_products][C::column_products][4];
};

/// Offset of a 16-byte unit in rows of mma_step_bytes: two rows fill the banks once, and in eight rows the units of one
/// number are in different banks.
__device__ __forceinline__ std::uint32_t mma_unit_at(std::uint32_t row, std::uint32_t unit) {
    return row * mma_step_bytes + (unit ^ row / 2 % mma_row_units) * mma_unit_bytes;
}

}  // namespace sluice::gemm
