#include "scheduler/chunk_size.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

constexpr double classifier_flop = 0.488e9;

TEST(ChunkSize, GivesAHostBetweenOneAndThirtyTwoArticles) {
    EXPECT_EQ(choose_chunk_items(1, classifier_flop, 64), 1U);
    EXPECT_EQ(choose_chunk_items(100, classifier_flop, 64), 16U);
    EXPECT_EQ(choose_chunk_items(2000, classifier_flop, 64), 64U);
    EXPECT_EQ(choose_chunk_items(1, classifier_flop), 1U);
    EXPECT_EQ(choose_chunk_items(97, classifier_flop), 1U);
    EXPECT_EQ(choose_chunk_items(2000, classifier_flop), 16U);
    EXPECT_EQ(choose_chunk_items(7600, classifier_flop), 32U);
    EXPECT_EQ(choose_chunk_items(std::numeric_limits<std::uint64_t>::max(), classifier_flop), 32U);
}

TEST(ChunkSize, MakesAtLeast64ChunksWhenThereAreThatManyItems) {
    for (std::uint64_t items = 64; items < 100'000; items += 37) {
        EXPECT_GE(items / choose_chunk_items(items, 1e3), 64U) << items;
    }
}

TEST(ChunkSize, IsAPowerOfTwoForAnyJob) {
    for (const std::uint64_t items : {0ULL, 1ULL, 63ULL, 64ULL, 1009ULL, 1ULL << 40, ~0ULL}) {
        for (const double flop : {1e-300, 1.0, 4.535e9, 1e13, 1e300}) {
            const std::uint32_t chosen = choose_chunk_items(items, flop);
            EXPECT_TRUE(std::has_single_bit(chosen)) << chosen;
            EXPECT_LE(chosen, 4096U);
        }
    }
}

TEST(ChunkSize, NeverShrinksWhenTheJobGrows) {
    std::uint32_t before = 1;
    for (std::uint64_t items = 0; items < 10'000; ++items) {
        const std::uint32_t chosen = choose_chunk_items(items, classifier_flop);
        ASSERT_GE(chosen, before);
        before = chosen;
    }
}

TEST(ChunkSize, RefusesWorkThatIsNoNumber) {
    EXPECT_THROW((void)choose_chunk_items(1, 0), ContractViolation);
    EXPECT_THROW((void)choose_chunk_items(1, -1), ContractViolation);
    EXPECT_THROW((void)choose_chunk_items(1, std::numeric_limits<double>::quiet_NaN()), ContractViolation);
    EXPECT_THROW((void)choose_chunk_items(1, std::numeric_limits<double>::infinity()), ContractViolation);
}

TEST(Depth, IsOneInSerialModeAndThreeInOverlap) {
    EXPECT_EQ(choose_depth(PipelineMode::serial), 1U);
    EXPECT_EQ(choose_depth(PipelineMode::overlap), 3U);
}

TEST(DepthWithLag, GrowsUnlessTheJobNamesIt) {
    EXPECT_EQ(depth_with_lag(3, DepthBy::program, 0), 3U);
    EXPECT_EQ(depth_with_lag(3, DepthBy::program, 2), 5U);
    EXPECT_EQ(depth_with_lag(4, DepthBy::job, 2), 4U);
    EXPECT_EQ(depth_with_lag(1, DepthBy::job, 0), 1U);
    EXPECT_EQ(depth_with_lag(1, DepthBy::serial_mode, 2), 1U) << "each chunk is finished by itself";
}

TEST(DepthWithLag, NamesTheLeastWhenTheJobNamesTooLittle) {
    const Error error = test::error_of([&] { return depth_with_lag(2, DepthBy::job, 2); });

    EXPECT_EQ(error.code(), ExitCode::configuration);
    EXPECT_EQ(error.text().id, "E-CFG-011");
    EXPECT_EQ(error.text().where, "pipeline.depth");
    EXPECT_EQ(error.text().what, "got 2, but the app's models hold 2 chunks back: expected 3 at least");
}

}  // namespace
}  // namespace sluice
