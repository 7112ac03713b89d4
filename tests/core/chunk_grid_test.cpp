#include "core/chunk_grid.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(ChunkGrid, KnowsHowShortTheLastChunkIs) {
    EXPECT_EQ(ChunkGrid(0, 7).short_items(), 0U);
    EXPECT_EQ(ChunkGrid(14, 7).short_items(), 0U);
    EXPECT_EQ(ChunkGrid(15, 7).short_items(), 1U);
    EXPECT_EQ(ChunkGrid(6, 7).short_items(), 6U);
}

TEST(Grid, CoversEveryItemOnceForAnyCount) {
    for (const std::uint64_t items : {0, 1, 2, 7, 63, 64, 65, 97, 1009, 4096}) {
        for (const std::uint32_t chunk_items : {1U, 2U, 7U, 64U, 5000U, 4294967295U}) {
            const ChunkGrid grid(items, chunk_items);
            std::uint64_t next = 0;

            for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
                const Chunk chunk = grid.at(id);
                EXPECT_EQ(chunk.id, id);
                EXPECT_EQ(chunk.first, next);
                EXPECT_GE(chunk.count, 1U);
                EXPECT_LE(chunk.count, chunk_items);
                next += chunk.count;
            }

            EXPECT_EQ(next, items) << items << " items in chunks of " << chunk_items;
        }
    }
}

TEST(Grid, StaysExactAtTheEdgesOfTheNumbers) {
    for (const std::uint64_t items : {std::uint64_t{1} << 40, (std::uint64_t{1} << 63) - 1, largest}) {
        for (const std::uint32_t chunk_items : {1U, 3U, 64U, 4294967295U}) {
            const ChunkGrid grid(items, chunk_items);

            const Chunk last = grid.at(grid.chunks() - 1);

            EXPECT_EQ(last.first, (grid.chunks() - 1) * chunk_items);
            EXPECT_EQ(items - last.first, last.count);
            EXPECT_GE(last.count, 1U);
            EXPECT_LE(last.count, chunk_items);
        }
    }
}

TEST(Grid, SaysThatTheInputHasEndedAfterTheLastChunk) {
    const ChunkGrid grid(10, 4);

    EXPECT_TRUE(grid.end().end_of_input());
    EXPECT_EQ(grid.end().first, 10U);
    EXPECT_THROW((void)grid.at(3), ContractViolation);
    EXPECT_THROW((void)ChunkGrid(0, 4).at(0), ContractViolation);
}

TEST(Grid, RefusesChunksWithoutItems) {
    EXPECT_THROW(ChunkGrid(10, 0), ContractViolation);
}

TEST(Grid, KeepsItsChunksWhenSomeAreDone) {
    for (const std::uint64_t items : {0, 1, 7, 97, 1009}) {
        const ChunkGrid all(items, 7);
        for (std::uint64_t begin = 0; begin <= all.chunks(); ++begin) {
            const ChunkGrid grid = all.from(begin);
            std::uint64_t left = 0;

            for (std::uint64_t id = grid.begin(); id < grid.chunks(); ++id) {
                EXPECT_EQ(grid.at(id), all.at(id));
                left += grid.at(id).count;
            }

            EXPECT_EQ(grid.begin(), begin);
            EXPECT_EQ(grid.chunks_left(), all.chunks() - begin);
            EXPECT_EQ(grid.items_done(), items - left);
            EXPECT_EQ(grid.short_items(), begin == all.chunks() ? 0 : all.short_items());
            EXPECT_EQ(grid.end(), all.end());
        }
        EXPECT_THROW((void)all.from(all.chunks() + 1), ContractViolation);
    }
    EXPECT_EQ(ChunkGrid(largest, 1000).from(largest / 1000).items_done(), largest / 1000 * 1000);
}

TEST(FixedChunk, GivesEveryChunkToExactlyOneDevice) {
    for (const std::uint64_t items : {0, 1, 2, 97, 1009}) {
        for (const std::uint32_t devices : {1U, 2U, 3U, 16U, 2000U}) {
            const ChunkGrid all(items, 7);
            const ChunkGrid grid = all.from(all.chunks() / 3);
            std::vector<int> given(grid.chunks(), 0);

            for (std::uint32_t device = 0; device < devices; ++device) {
                std::uint64_t request = 0;
                while (const auto id = fixed_chunk(grid, device, devices, request)) {
                    ++given.at(*id);
                    ++request;
                }
                EXPECT_LE(request, grid.chunks_left() / devices + 1);
            }

            for (std::uint64_t id = 0; id < given.size(); ++id) {
                EXPECT_EQ(given[id], id < grid.begin() ? 0 : 1);
            }
        }
    }
}

TEST(FixedChunk, EndsWithoutOverflowForAnyRequest) {
    const ChunkGrid grid(largest, 1);

    EXPECT_EQ(fixed_chunk(grid, 1, 2, (largest - 2) / 2), largest - 2);
    EXPECT_EQ(fixed_chunk(grid, 1, 2, (largest - 2) / 2 + 1), std::nullopt);
    EXPECT_EQ(fixed_chunk(grid, 1, 2, largest), std::nullopt);
}

TEST(FixedChunk, RefusesADeviceThatDoesNotExist) {
    EXPECT_THROW((void)fixed_chunk(ChunkGrid(10, 1), 2, 2, 0), ContractViolation);
}

}  // namespace
}  // namespace sluice
