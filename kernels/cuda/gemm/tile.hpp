#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

/// What a block of Gemm's kernel computes at a time. The blocks of a cluster compute tiles beside each other, those of
/// a row of tiles share rows of a, those of a column rows of b: each is read once for all of them.
struct GemmTile {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t cluster_rows = 1;  ///< Tiles of a cluster, one below the other.
    std::uint32_t cluster_columns = 1;
    bool ping_pong = false;  ///< A block multiplies one tile while it stores the one before.

    friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

/// "128x192, clusters of 2x1, ping-pong".
[[nodiscard]] std::string describe(const GemmTile& tile);

/// Those that there are kernels for.
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

/// The number in gemm_tiles of the tile to take.
///
/// A large product is bound by power: one of at least 4096 of depth and eight rounds of the first tile, which moves the
/// fewest bytes, takes that. Any other takes that of the others for which this estimate of its time is least, the first
/// of equal ones: blocks work in rounds of one tile for each multiprocessor; a round takes, for each 64 of depth, the
/// longer of two times in cycles: of the tensor cores, as fast as power lets them, rows * columns / 22.5, and of the
/// copies, 3.4 for each row and each column, 2.93 in ping-pong, where they never pause; then rows * columns / 6 to
/// begin and to store at the end of each round, or, in ping-pong, rows * columns / 3.4 at the end of the last. The
/// constants are those of an H200, in cycles at 1.9 GHz. Of depths above 3,072, ping-pong is left out: there is little
/// to hide, and its smaller tiles read more.
[[nodiscard]] std::size_t choose_gemm_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                           std::uint32_t multiprocessors);

/// Those that there are kernels for by mma.sync.
inline constexpr std::array<GemmTile, 3> mma_tiles{{
    {.rows = 128, .columns = 256},
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 64},
}};

/// The number in mma_tiles of the tile to take: that for which this estimate is least, the first of equal ones. Each
/// multiprocessor computes as many tiles as the busiest; a tile takes rows * columns * (depth + ends), the ends being
/// 256 for the first tile, which has no neighbour to hide them, and 64 for others; the second tile multiplies at 0.95
/// and the third at 0.6 of the first one's speed, as they read more. These shares are estimates.
[[nodiscard]] std::size_t choose_mma_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                          std::uint32_t multiprocessors);

/// Those that there are kernels for by mma.sync where rows begin anywhere.
inline constexpr std::array<GemmTile, 2> unaligned_tiles{{
    {.rows = 128, .columns = 128},
    {.rows = 64, .columns = 64},
}};

/// The number in unaligned_tiles of the tile to take, by the same estimate: the second tile at 0.55 of the first one's
/// speed.
[[nodiscard]] std::size_t choose_unaligned_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                                std::uint32_t multiprocessors);

/// Rows of cluster tiles in a group, of `tile_rows` in all, so that what `clusters` clusters work on is about square,
/// in groups about alike.
[[nodiscard]] std::uint32_t gemm_group_rows(const GemmTile& tile, std::uint32_t tile_rows, std::uint32_t clusters);

}  // namespace sluice
