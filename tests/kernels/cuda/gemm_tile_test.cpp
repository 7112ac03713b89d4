#include "kernels/cuda/gemm/tile.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace sluice {
namespace {

TEST(GemmTileChoice, TakesSmallTilesForFewRowsAndWholeRoundsForMany) {
    constexpr std::uint32_t multiprocessors = 132;
    const auto tile = [&](std::uint32_t rows, std::uint32_t columns, std::uint32_t depth) {
        return gemm_tiles[choose_gemm_tile(rows, columns, depth, multiprocessors)];
    };

    EXPECT_EQ(tile(1, 3072, 768).rows, 64U);
    EXPECT_EQ(tile(64, 768, 768).columns, 64U);
    EXPECT_EQ(tile(4096, 768, 768), (GemmTile{.rows = 128, .columns = 192}));  // 128 tiles: one round
    EXPECT_EQ(tile(8448, 768, 3072), (GemmTile{.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true}));
    EXPECT_EQ(tile(16896, 640, 768), (GemmTile{.rows = 128, .columns = 128, .ping_pong = true}));  // five rounds
    EXPECT_EQ(tile(16896, 3072, 768), (GemmTile{.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true}));
    EXPECT_EQ(tile(16896, 4096, 1024), (GemmTile{.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true}));
    EXPECT_EQ(tile(8448, 1536, 6144), (GemmTile{.rows = 256, .columns = 192, .cluster_columns = 2}));  // whole rounds
    EXPECT_EQ(tile(4096, 4096, 4096), (GemmTile{.rows = 128, .columns = 256, .cluster_rows = 2}));
    EXPECT_EQ(tile(16896, 1600, 6400), (GemmTile{.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true}));
    EXPECT_EQ(tile(16896, 1280, 5120), (GemmTile{.rows = 128, .columns = 256, .cluster_rows = 2}));
}

TEST(GemmTileChoice, KeepsThePreviousTileUnlessAnotherIsWorthLoadingItsCode) {
    constexpr std::uint32_t multiprocessors = 132;
    const std::size_t pairs = choose_gemm_tile(16896, 3072, 768, multiprocessors);
    const std::size_t squares = choose_gemm_tile(16896, 640, 768, multiprocessors);
    ASSERT_NE(pairs, squares);

    EXPECT_EQ(choose_gemm_tile(16896, 640, 768, multiprocessors, pairs), pairs);
    EXPECT_EQ(choose_gemm_tile(8448, 768, 768, multiprocessors, squares), squares);
    EXPECT_EQ(choose_gemm_tile(135168, 3072, 768, multiprocessors, squares), pairs);
}

TEST(MmaTileChoice, TakesSmallTilesForFewRowsAndLargeOnesWhereTheyFillTheGpu) {
    constexpr std::uint32_t multiprocessors = 108;
    const auto tile = [&](std::uint32_t rows, std::uint32_t columns, std::uint32_t depth) {
        return mma_tiles[choose_mma_tile(rows, columns, depth, multiprocessors)];
    };

    EXPECT_EQ(tile(1, 3072, 768).rows, 64U);
    EXPECT_EQ(tile(64, 768, 768).rows, 64U);
    EXPECT_EQ(tile(16896, 768, 768), (GemmTile{.rows = 128, .columns = 128}));
    EXPECT_EQ(tile(8192, 8192, 8192), (GemmTile{.rows = 128, .columns = 256}));
}

TEST(GemmGroups, AreAboutSquareInGroupsAboutAlike) {
    constexpr GemmTile square{.rows = 128, .columns = 128};

    EXPECT_EQ(gemm_group_rows(square, 64, 100), 10U);
    EXPECT_EQ(gemm_group_rows(square, 12, 100), 6U);  // two groups of six, not ten and two
    EXPECT_EQ(gemm_group_rows(square, 3, 100), 3U);
    EXPECT_EQ(gemm_group_rows({.rows = 128, .columns = 256, .cluster_rows = 2}, 1, 66), 1U);
}

}  // namespace
}  // namespace sluice
