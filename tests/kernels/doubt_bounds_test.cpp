#include "kernels/doubt_bounds.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice {
namespace {

std::vector<SeenDoubts> some_seen(std::size_t count, double deviation) {
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> distance(0, 0.01);
    std::normal_distribution<double> error(0, deviation);
    std::vector<SeenDoubts> seen;
    for (std::size_t i = 0; i < count; ++i) {
        const double exact = distance(random);
        seen.push_back({.fast = {.distance = static_cast<float>(exact + error(random))},
                        .exact = {.distance = static_cast<float>(exact)}});
    }
    return seen;
}

TEST(DoubtBounds, AreSixDeviations) {
    const TextDoubt bounds = calibrate_doubts(some_seen(20'000, 1e-5));

    EXPECT_NEAR(bounds.distance, 6e-5, 2e-6);
    EXPECT_EQ(bounds.gap, TextDoubt::none);  // which an infinite gap reaches
}

TEST(DoubtBounds, AreNoLessThanTheWorstThatWasSeen) {
    std::vector<SeenDoubts> seen = some_seen(20'000, 1e-5);
    seen[77].fast.distance = seen[77].exact.distance - 1e-3F;

    EXPECT_NEAR(calibrate_doubts(seen).distance, 1e-3, 1e-6);
}

TEST(DoubtBounds, OfGapsAndDistancesAreApart) {
    std::vector<SeenDoubts> seen = some_seen(300, 1e-5);
    for (SeenDoubts& one : seen) {
        one.exact.gap = 0.5F;
        one.fast.gap = 0.5F + 1.0F / 1024;
    }

    const TextDoubt bounds = calibrate_doubts(seen);

    EXPECT_FLOAT_EQ(bounds.gap, 6.0F / 1024);
    EXPECT_LT(bounds.distance, 1e-4F);
}

/// Whether a certifier takes the text as it is.
bool is_certain(const TextDoubt& doubt, const TextDoubt& bounds) {
    return doubt.distance >= bounds.distance && doubt.gap >= bounds.gap;
}

TEST(DoubtBounds, LeaveNoTextCertainThatWasWrong) {
    const std::vector<SeenDoubts> seen = some_seen(20'000, 1e-5);
    const TextDoubt without = calibrate_doubts(seen);
    const TextDoubt near{.distance = 1e-6F};
    const TextDoubt far{.distance = 1e-3F};
    ASSERT_FALSE(is_certain(near, without));
    ASSERT_TRUE(is_certain(far, without));

    EXPECT_EQ(calibrate_doubts(seen, std::vector{near}).distance, without.distance) << "it is written again as it is";
    const TextDoubt bounds = calibrate_doubts(seen, std::vector{near, far});
    EXPECT_FALSE(is_certain(far, bounds));
    EXPECT_NEAR(bounds.distance, 1e-3, 1e-6);
    EXPECT_EQ(bounds.gap, without.gap);
}

/// One measure that comes too close is enough to have a text written again.
TEST(DoubtBounds, StayWhereTheyFindAWrongTextAndRiseWhereItReachesThem) {
    std::vector<SeenDoubts> seen = some_seen(300, 1e-5);
    for (SeenDoubts& one : seen) {
        one.exact.gap = 0.5F;
        one.fast.gap = 0.5F + 1.0F / 1024;
    }
    const TextDoubt bounds = calibrate_doubts(seen);
    const TextDoubt near_by_gap{.distance = 1, .gap = bounds.gap / 2};

    EXPECT_EQ(calibrate_doubts(seen, std::vector{near_by_gap}), bounds);
    EXPECT_FALSE(is_certain(bounds, calibrate_doubts(seen, std::vector{bounds})));
}

TEST(DoubtBounds, AreInfiniteWhereThereIsTooLittleToLearnFrom) {
    EXPECT_EQ(calibrate_doubts(some_seen(fewest_margin_items - 1, 1e-5)).distance, TextDoubt::none);
    EXPECT_EQ(calibrate_doubts({}).distance, TextDoubt::none);
    EXPECT_LT(calibrate_doubts(some_seen(fewest_margin_items, 1e-5)).distance, 1e-3F);
}

}  // namespace
}  // namespace sluice
