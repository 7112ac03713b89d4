#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

/// What a block of Gemm's kernel computes at a time. A cluster's blocks compute adjacent tiles: those in a row of tiles
/// share rows of a, those in a column rows of b, each read once for all of them.
struct GemmTile {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t cluster_rows = 1;  ///< Tiles of a cluster, one below the other.
    std::uint32_t cluster_columns = 1;
    bool ping_pong = false;  ///< A block multiplies one tile while it stores the previous one.

    friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

/// "128x192, clusters of 2x1, ping-pong".
[[nodiscard]] std::string describe(const GemmTile& tile);

/// Tiles that have kernels by wgmma.
inline constexpr std::array<GemmTile, 9> gemm_tiles{{
    {.rows = 256, .columns = 192, .cluster_columns = 2},
    {.rows = 128, .columns = 256, .cluster_rows = 2},
    {.rows = 128, .columns = 256},
    {.rows = 128, .columns = 192},
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 128},
    {.rows = 64, .columns = 64},
    {.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true},
    {.rows = 128, .columns = 128, .ping_pong = true},
}};

/// Index in gemm_tiles of the tile of products with gates, which have no kernel for others.
inline constexpr std::size_t gated_gemm_tile = 7;

/// Index in gemm_tiles of the tile to use.
///
/// It is the one with the least estimated time, the first among equals. Blocks work in rounds of one tile per
/// multiprocessor. For each 64 of depth a round takes the longer of two times in cycles: of the tensor cores, as fast
/// as power lets them, rows * columns / 22.5, and of the copies, 3.4 for each row and each column that a block copies
/// itself, or 4.3 for depths from 4,096 on; then rows * columns / 6 to begin and to store at the end of each round, or,
/// in ping-pong, rows * columns / 3.4 at the end of the last. A tile other than that of the `previous` product takes
/// 8,000 cycles more, for its code to come into the caches. The constants are those of an H200, in cycles at 1.9 GHz.
///
/// The first tile is for depths from 4,096 on only; it moves the fewest bytes and so leaves more power, for rows *
/// columns / 24.
[[nodiscard]] std::size_t choose_gemm_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                           std::uint32_t multiprocessors,
                                           std::optional<std::size_t> previous = std::nullopt);

/// Tiles that have kernels by mma.sync.
inline constexpr std::array<GemmTile, 3> mma_tiles{{
    {.rows = 128, .columns = 256},
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 64},
}};

/// Index in mma_tiles of the tile with the least estimated time, the first among equals. Each multiprocessor computes
/// as many tiles as the busiest; a tile takes rows * columns * (depth + ends), the ends being 256 for the first tile,
/// which has no neighbour to hide them, and 64 for others; the second tile multiplies at 0.95 and the third at 0.6 of
/// the first one's speed, as they read more. These shares are estimates.
[[nodiscard]] std::size_t choose_mma_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                          std::uint32_t multiprocessors);

/// Tiles that have kernels by mma.sync for rows that begin anywhere.
inline constexpr std::array<GemmTile, 2> unaligned_tiles{{
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 64},
}};

/// Index in unaligned_tiles of the tile to use, by the same estimate, with 64 for all ends and the second tile at 0.55
/// of the first one's speed.
[[nodiscard]] std::size_t choose_unaligned_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                                std::uint32_t multiprocessors);

/// Rounds that a product takes, in each of which `multiprocessors` compute a tile each, as whole clusters.
[[nodiscard]] std::uint64_t gemm_rounds(const GemmTile& tile, std::uint32_t rows, std::uint32_t columns,
                                        std::uint32_t multiprocessors);

/// The number of rows of clusters' tiles that form a group, when there are `tile_rows` such rows: what `clusters`
/// clusters compute at a time is then about square, and groups are about equal. At least one each.
[[nodiscard]] std::uint32_t gemm_group_rows(const GemmTile& tile, std::uint32_t tile_rows, std::uint32_t clusters);

}  // namespace sluice
