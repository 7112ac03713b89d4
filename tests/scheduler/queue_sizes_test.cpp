#include "scheduler/queue_sizes.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::uint64_t memory_each = std::uint64_t{256} << 20U;

TEST(QueueSizes, HoldAChunkForEverySlotAndAWideWindowWhenMemoryAllows) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 1014, .output_bytes = 4}, 64, 12, 100'000);

    EXPECT_EQ(sizes.staged, 12U);
    EXPECT_GE(sizes.window, 12U * 8U);
}

TEST(QueueSizes, AreNeverLargerThanTheJob) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 10, .output_bytes = 10}, 8, 64, 3);

    EXPECT_EQ(sizes.staged, 3U);
    EXPECT_EQ(sizes.window, 3U);
}

TEST(QueueSizes, AreAtLeastOneChunkForAnEmptyJob) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 10, .output_bytes = 10}, 8, 64, 0);

    EXPECT_EQ(sizes.staged, 1U);
    EXPECT_EQ(sizes.window, 1U);
}

TEST(QueueSizes, AllowTwoChunksHoweverLargeTheyAre) {
    const QueueSizes sizes =
        choose_queue_sizes({.input_bytes = UINT32_MAX, .output_bytes = UINT32_MAX}, UINT32_MAX, 8, 1000);

    EXPECT_EQ(sizes.staged, 2U);
    EXPECT_EQ(sizes.window, 2U);
}

TEST(QueueSizes, StayWithinTheirBoundsForAnyShape) {
    for (const std::uint32_t bytes : {0U, 1U, 4U, 1014U, 1U << 20U, UINT32_MAX}) {
        for (const std::uint32_t items : {1U, 64U, 100'000U, UINT32_MAX}) {
            for (const std::uint64_t slots :
                 {std::uint64_t{1}, std::uint64_t{30}, std::uint64_t{1} << 40U, UINT64_MAX}) {
                for (const std::uint64_t chunks : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, UINT64_MAX}) {
                    const QueueSizes sizes = choose_queue_sizes({bytes, bytes}, items, slots, chunks);

                    const std::uint64_t each = std::uint64_t{bytes} * items;
                    for (const std::uint64_t size : {sizes.staged, sizes.window}) {
                        EXPECT_GE(size, 1U);
                        EXPECT_LE(size, std::max<std::uint64_t>(chunks, 1));
                        EXPECT_TRUE(size <= 2 || each == 0 || size <= memory_each / each);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace sluice
