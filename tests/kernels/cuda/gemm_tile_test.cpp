#include "kernels/cuda/gemm/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t h200_multiprocessors = 132;

GemmTile tile_for(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth) {
    return gemm_tiles[choose_gemm_tile(rows, columns, depth, h200_multiprocessors)];
}

constexpr GemmTile ping_pong_128x192{.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true};
constexpr GemmTile ping_pong_128x128{.rows = 128, .columns = 128, .ping_pong = true};
constexpr GemmTile tile_128x192{.rows = 128, .columns = 192};
constexpr GemmTile tile_128x256{.rows = 128, .columns = 256, .cluster_rows = 2};
constexpr GemmTile tile_256x192{.rows = 256, .columns = 192, .cluster_columns = 2};

TEST(GemmTileChoice, TakesSmallTilesForFewRowsAndWholeRoundsForMany) {
    EXPECT_EQ(tile_for(1, 3072, 768).rows, 64U);
    EXPECT_EQ(tile_for(64, 768, 768).columns, 64U);
    EXPECT_EQ(tile_for(4096, 768, 768), tile_128x192);  // 128 tiles: one round
    EXPECT_EQ(tile_for(8448, 768, 3072), ping_pong_128x192);
    EXPECT_EQ(tile_for(16896, 640, 768), ping_pong_128x128);  // five rounds
    EXPECT_EQ(tile_for(16896, 3072, 768), ping_pong_128x192);
    EXPECT_EQ(tile_for(16896, 4096, 1024), ping_pong_128x192);
    EXPECT_EQ(tile_for(8448, 1536, 6144), tile_256x192);  // whole rounds
    EXPECT_EQ(tile_for(4096, 4096, 4096), tile_128x256);
    EXPECT_EQ(tile_for(16896, 1600, 6400), ping_pong_128x192);
    EXPECT_EQ(tile_for(16896, 1280, 5120), tile_128x256);
}

TEST(GemmTileChoice, HasAnotherTileAndDearerCopiesForDepthsFrom4096) {
    EXPECT_EQ(tile_for(8448, 1536, 4096), tile_256x192);
    EXPECT_EQ(tile_for(8448, 1536, 4095), ping_pong_128x192);  // as many steps
    EXPECT_EQ(tile_for(4096, 768, 4096), ping_pong_128x192);   // copies less than tiles without clusters
    EXPECT_EQ(tile_for(4096, 768, 4095), tile_128x192);
    EXPECT_EQ(tile_for(12672, 1024, 4096), (GemmTile{.rows = 128, .columns = 256}));  // three rounds, and five of pairs
    EXPECT_EQ(tile_for(12672, 2048, 4096), ping_pong_128x192);                        // nine, which copy less than six
}

TEST(GemmTileChoice, CountsWhatBeginningsAndEndsTakeOfShallowProducts) {
    EXPECT_EQ(tile_for(4096, 768, 128), tile_128x192);        // one round hides none of them
    EXPECT_EQ(tile_for(12672, 768, 256), ping_pong_128x128);  // five rounds, one end
    EXPECT_EQ(tile_for(12672, 768, 512), tile_128x192);
}

TEST(GemmTileChoice, TakesTheFirstAmongEquals) {
    EXPECT_EQ(choose_gemm_tile(0, 768, 4096, h200_multiprocessors), 0U);  // no rows take no time
    EXPECT_EQ(choose_gemm_tile(0, 768, 768, h200_multiprocessors), 1U);
    EXPECT_EQ(choose_mma_tile(0, 768, 768, h200_multiprocessors), 0U);
}

TEST(GemmTileChoice, KeepsThePreviousTileUnlessAnotherIsWorthLoadingItsCode) {
    const auto after = [](const GemmTile& previous, std::uint32_t rows, std::uint32_t columns, std::uint32_t depth) {
        const auto number = static_cast<std::size_t>(std::ranges::find(gemm_tiles, previous) - gemm_tiles.begin());
        return gemm_tiles[choose_gemm_tile(rows, columns, depth, h200_multiprocessors, number)];
    };
    ASSERT_EQ(tile_for(16896, 640, 768), ping_pong_128x128);
    ASSERT_EQ(tile_for(8448, 768, 1280), ping_pong_128x192);

    EXPECT_EQ(after(ping_pong_128x192, 16896, 640, 768), ping_pong_128x192);
    EXPECT_EQ(after(ping_pong_128x128, 8448, 768, 768), ping_pong_128x128);
    EXPECT_EQ(after(ping_pong_128x128, 8448, 768, 1280), ping_pong_128x128);              // 6,100 cycles slower
    EXPECT_EQ(after({.rows = 128, .columns = 128}, 8448, 768, 1280), ping_pong_128x192);  // 9,500 cycles slower
    EXPECT_EQ(after(ping_pong_128x128, 135168, 3072, 768), ping_pong_128x192);
}

TEST(MmaTileChoice, TakesSmallTilesForFewRowsAndLargeOnesWhereTheyFillTheGpu) {
    constexpr std::uint32_t ampere = 108;
    const auto tile = [&](std::uint32_t rows, std::uint32_t columns, std::uint32_t depth) {
        return mma_tiles[choose_mma_tile(rows, columns, depth, ampere)];
    };

    EXPECT_EQ(tile(1, 3072, 768).rows, 64U);
    EXPECT_EQ(tile(64, 768, 768).rows, 64U);
    EXPECT_EQ(tile(1024, 768, 768).rows, 64U);
    EXPECT_EQ(tile(1000, 1000, 768), (GemmTile{.rows = 128, .columns = 128}));  // one round, not three
    EXPECT_EQ(tile(16896, 768, 768), (GemmTile{.rows = 128, .columns = 128}));
    EXPECT_EQ(tile(8192, 8192, 8192), (GemmTile{.rows = 128, .columns = 256}));
}

TEST(UnalignedTileChoice, TakesSmallTilesForFewRows) {
    constexpr std::uint32_t ampere = 108;
    const auto rows_of_tile = [&](std::uint32_t rows, std::uint32_t columns) {
        return unaligned_tiles[choose_unaligned_tile(rows, columns, 768, ampere)].rows;
    };

    EXPECT_EQ(rows_of_tile(1, 3072), 64U);
    EXPECT_EQ(rows_of_tile(1024, 768), 64U);
    EXPECT_EQ(rows_of_tile(2048, 1000), 128U);  // two rounds, not five
}

TEST(GemmTile, IsNamedByItsSizeAndHowBlocksWork) {
    EXPECT_EQ(describe({.rows = 64, .columns = 128}), "64x128");
    EXPECT_EQ(describe({.rows = 128, .columns = 256, .cluster_rows = 2}), "128x256, clusters of 2x1");
    EXPECT_EQ(describe({.rows = 256, .columns = 192, .cluster_columns = 2}), "256x192, clusters of 1x2");
    EXPECT_EQ(describe({.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true}),
              "128x192, clusters of 2x1, ping-pong");
}

TEST(GemmRounds, AreOfWholeClusters) {
    constexpr GemmTile two{.rows = 128, .columns = 192, .cluster_rows = 2};

    EXPECT_EQ(gemm_rounds(tile_128x192, 385, 193, 4), 2U);  // 4 x 2 tiles
    EXPECT_EQ(gemm_rounds(tile_128x192, 385, 193, 5), 2U);
    EXPECT_EQ(gemm_rounds(two, 385, 193, 5), 2U);  // 2 x 2 clusters, two at a time
    EXPECT_EQ(gemm_rounds(two, 385, 193, 1), 4U);
    EXPECT_EQ(gemm_rounds({.rows = 128, .columns = 192, .cluster_columns = 2}, 385, 385, 132), 1U);
    EXPECT_EQ(gemm_rounds(two, 0, 193, 132), 0U);
}

TEST(GemmGroups, AreAboutSquareInGroupsAboutAlike) {
    constexpr GemmTile square{.rows = 128, .columns = 128};

    EXPECT_EQ(gemm_group_rows(square, 64, 100), 10U);
    EXPECT_EQ(gemm_group_rows(square, 12, 100), 6U);  // two groups of six, not ten and two
    EXPECT_EQ(gemm_group_rows(square, 3, 100), 3U);
    EXPECT_EQ(gemm_group_rows({.rows = 128, .columns = 256, .cluster_rows = 2}, 1, 66), 1U);
    EXPECT_EQ(gemm_group_rows({.rows = 128, .columns = 192, .cluster_rows = 2}, 63, 66), 7U);      // 1,792 by 1,810
    EXPECT_EQ(gemm_group_rows({.rows = 256, .columns = 192, .cluster_columns = 2}, 60, 66), 10U);  // 2,560 by 2,534
    EXPECT_EQ(gemm_group_rows({.rows = 256, .columns = 32}, 3, 1), 1U);
}

TEST(GemmGroups, AreOfAProductWithTiles) {
    constexpr GemmTile square{.rows = 128, .columns = 128};

    EXPECT_THROW(static_cast<void>(gemm_group_rows(square, 0, 100)), ContractViolation);
    EXPECT_THROW(static_cast<void>(gemm_group_rows(square, 12, 0)), ContractViolation);
}

}  // namespace
}  // namespace sluice
