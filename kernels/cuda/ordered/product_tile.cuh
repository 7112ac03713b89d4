#pragma once

#include <cstdint>

#include "kernels/cuda/ordered/product.hpp"

namespace sluice::ordered {

constexpr std::uint32_t product_stages = 4;
constexpr std::uint32_t chain_depth = 512;
constexpr std::uint32_t chain_steps = chain_depth / product_depth;

/// How a block multiplies a tile: a thread has row_fours times 4 rows, 16 apart, by column_fours times 4 columns, 32
/// apart; a warp is 4 threads by 8; a group of warps_down by warps_across warps has the tile. Several groups sum up
/// chains in turn. A multiprocessor holds blocks_ blocks.
template <std::uint32_t row_fours_, std::uint32_t column_fours_, std::uint32_t warps_down, std::uint32_t warps_across_,
          std::uint32_t groups_, std::uint32_t blocks_>
struct ProductTile {
    static constexpr std::uint32_t row_fours = row_fours_;
    static constexpr std::uint32_t column_fours = column_fours_;
    static constexpr std::uint32_t warps_across = warps_across_;
    static constexpr std::uint32_t groups = groups_;
    static constexpr std::uint32_t blocks = blocks_;      // of a multiprocessor
    static constexpr bool loops_over_tiles = groups > 1;  // small ones, several for a block

    static constexpr std::uint32_t rows = warps_down * row_fours * 16;
    static constexpr std::uint32_t columns = warps_across * column_fours * 32;
    static constexpr std::uint32_t group_threads = warps_down * warps_across * 32;
    static constexpr std::uint32_t threads = groups * group_threads;
    static constexpr std::uint32_t row_part = 4;  // adjacent floats of a row of `in` that as many threads copy
    static constexpr std::uint32_t copied_rows = group_threads / row_part;  // at once
    static constexpr std::uint32_t a_row = rows + 8;  // transposed; padded, so that copies have no bank conflicts
    static constexpr std::uint32_t a_floats = product_depth * a_row;
    static constexpr std::uint32_t stage_floats = a_floats + product_depth * columns;
    static constexpr std::uint32_t ring_floats = product_stages * stage_floats;  // of a group
    static constexpr std::uint32_t shared_floats = groups * ring_floats + (groups - 1) * rows * columns;
    static_assert(rows % copied_rows == 0 && product_depth % row_part == 0);
    /// Otherwise a product's last tile overlaps the one before, and does not write the rows that they share.
    static constexpr bool divides_rows = product_rows % rows == 0;
    static_assert(rows <= product_rows && rows % 16 == 0 && product_columns % columns == 0);
};

}  // namespace sluice::ordered
