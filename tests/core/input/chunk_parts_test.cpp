#include "core/input/chunk_parts.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();

TEST(ChunkParts, CoverEveryItemOnceAndInOrder) {
    for (const std::uint64_t items : {0U, 1U, 9U, 10U, 11U, 1003U}) {
        for (const std::uint32_t chunk_items : {1U, 7U, 10U, 5000U}) {
            for (const std::uint32_t part_items : {1U, 3U, 7U, 10U, largest}) {
                const ChunkParts parts(ChunkGrid(items, chunk_items), part_items);
                std::uint64_t next = 0;
                std::uint64_t in_chunks = 0;

                for (std::uint64_t number = 0; number < parts.parts(); ++number) {
                    const ChunkPart part = parts.at(number);
                    ASSERT_EQ(part.first(), next);
                    ASSERT_GT(part.count, 0U);
                    ASSERT_LE(part.count, part_items);
                    ASSERT_LE(part.begin + part.count, part.chunk.count);
                    next += part.count;
                }
                for (std::uint64_t id = 0; id < parts.grid().chunks(); ++id) {
                    in_chunks += parts.parts_of(id);
                }

                EXPECT_EQ(next, items);
                EXPECT_EQ(in_chunks, parts.parts());
                EXPECT_EQ(ChunkParts(parts.grid().from(parts.grid().chunks()), part_items).parts_done(), in_chunks);
            }
        }
    }
}

TEST(ChunkParts, AreExactForTheLargestGrid) {
    constexpr std::uint64_t items = std::numeric_limits<std::uint64_t>::max();
    const ChunkParts parts(ChunkGrid(items, 4096), 256);

    const ChunkPart last = parts.at(parts.parts() - 1);

    EXPECT_EQ(last.first() + last.count, items);
    EXPECT_EQ(last.count, 255U);
    EXPECT_EQ(ChunkParts(ChunkGrid(items, 1), 1).parts(), items);
}

TEST(ChunkParts, RefuseWhatIsNotThere) {
    const ChunkParts parts(ChunkGrid(11, 10), 4);

    EXPECT_EQ(parts.parts(), 4U);
    EXPECT_THROW((void)parts.at(4), ContractViolation);
    EXPECT_THROW((void)parts.parts_of(2), ContractViolation);
    EXPECT_THROW(ChunkParts(ChunkGrid(1, 1), 0), ContractViolation);
}

TEST(ChunkParts, GiveEveryReaderAShareOfAChunk) {
    EXPECT_EQ(choose_part_items(4096, 16, 1), 256U);
    EXPECT_EQ(choose_part_items(4096, 3, 1), 1366U);
    EXPECT_EQ(choose_part_items(4096, 3, 64), 1408U);
    EXPECT_EQ(choose_part_items(5, 16, 1), 1U);
}

TEST(ChunkParts, AreNoSmallerThanTheStepsOfTheSource) {
    EXPECT_EQ(choose_part_items(256, 16, 64), 64U);
    EXPECT_EQ(choose_part_items(32, 8, 64), 32U) << "a chunk is never left";
    EXPECT_EQ(choose_part_items(largest, 1, largest), largest);
    EXPECT_EQ(choose_part_items(largest, 2, largest - 1), largest - 1);
    EXPECT_THROW((void)choose_part_items(1, 0, 1), ContractViolation);
}

}  // namespace
}  // namespace sluice
