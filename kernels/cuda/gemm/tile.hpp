#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// What a block of Gemm's kernel computes at a time. The blocks of a cluster compute tiles beside each other, those of
/// a row of tiles share rows of a, those of a column rows of b: each is read once for all of them.
struct GemmTile {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t cluster_rows = 1;  ///< Tiles of a cluster, one below the other.
    std::uint32_t cluster_columns = 1;

    friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

/// Those that there are kernels for.
inline constexpr std::array<GemmTile, 7> gemm_tiles{{
    {.rows = 256, .columns = 192, .cluster_columns = 2},
    {.rows = 128, .columns = 256, .cluster_rows = 2},
    {.rows = 128, .columns = 256},
    {.rows = 128, .columns = 192},
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 128},
    {.rows = 64, .columns = 64},
}};

/// The number in gemm_tiles of the tile to take.
///
/// A large product is bound by power: one of at least 4096 of depth and eight rounds of the first tile, which moves the
/// fewest bytes, takes that. Any other takes that of the others for which this estimate of its time is least, the first
/// of equal ones: blocks work in rounds of one tile for each multiprocessor; a round takes, for each 64 of depth, the
/// longer of two times in cycles: of the tensor cores, rows * columns / 32, and of the copies, 3.4 for each row and
/// each column; at its end, rows * columns / 10 to begin and to store. The constants are those of an H200 at 1.9 GHz.
[[nodiscard]] std::size_t choose_gemm_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                           std::uint32_t multiprocessors);

}  // namespace sluice
