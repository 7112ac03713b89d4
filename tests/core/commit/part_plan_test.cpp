#include "core/commit/part_plan.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace sluice {
namespace {

TEST(PartPlan, PutsEveryChunkIntoOnePartInOrder) {
    for (const std::uint64_t items : {0ULL, 1ULL, 9ULL, 10ULL, 100ULL, 997ULL}) {
        for (const std::uint64_t chunks_per_part : {1ULL, 2ULL, 7ULL, 1000ULL}) {
            const PartPlan plan(ChunkGrid(items, 10), chunks_per_part);
            std::uint64_t next = 0;
            std::uint64_t counted = 0;
            for (std::uint32_t part = 0; part < plan.parts(); ++part) {
                EXPECT_EQ(plan.first_chunk(part), next);
                next = plan.end_chunk(part);
                counted += plan.items_of(part);
                for (std::uint64_t chunk = plan.first_chunk(part); chunk < next; ++chunk) {
                    EXPECT_EQ(plan.part_of(chunk), part);
                }
            }
            EXPECT_EQ(next, plan.grid().chunks()) << items << " " << chunks_per_part;
            EXPECT_EQ(counted, items);
        }
    }
}

TEST(PartPlan, HasOnePartForNoItems) {
    const PartPlan plan(ChunkGrid(0, 10), 3);

    EXPECT_EQ(plan.parts(), 1U);
    EXPECT_EQ(plan.items_of(0), 0U);
}

TEST(PartPlan, RefusesMorePartsThanItHasNumbersFor) {
    EXPECT_THROW(PartPlan(ChunkGrid(std::uint64_t{1} << 40, 1), 1), ContractViolation);
    EXPECT_THROW(PartPlan(ChunkGrid(1, 1), 0), ContractViolation);
}

TEST(PartPlan, MakesPartsOf256MiBByTheEstimate) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;

    EXPECT_EQ(choose_chunks_per_part(1000, mib), 256U);
    EXPECT_EQ(choose_chunks_per_part(256, mib), 256U) << "all in one";
    EXPECT_EQ(choose_chunks_per_part(10, mib), 10U);
    EXPECT_EQ(choose_chunks_per_part(10, 300 * mib), 1U) << "a chunk is never cut";
    EXPECT_EQ(choose_chunks_per_part(0, 0), 1U);
    EXPECT_EQ(choose_chunks_per_part(~std::uint64_t{0}, 1), 256 * mib);
}

}  // namespace
}  // namespace sluice
