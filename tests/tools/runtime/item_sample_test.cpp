#include "tools/runtime/item_sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::uint64_t> all_of(ItemSample sample) {
    std::vector<std::uint64_t> items;
    while (const auto item = sample.next()) {
        items.push_back(*item);
    }
    return items;
}

TEST(ItemSample, DrawsAsManyDifferentItemsAsAreWantedInOrder) {
    for (const std::uint64_t wanted : {1U, 2U, 50U, 999U, 1000U}) {
        const std::vector<std::uint64_t> items = all_of(ItemSample(1000, {}, wanted, 17));

        EXPECT_EQ(items.size(), wanted);
        EXPECT_EQ(std::ranges::adjacent_find(items, std::ranges::greater_equal{}), items.end());
        EXPECT_LT(items.back(), 1000U);
    }
}

TEST(ItemSample, FollowsFromTheSeed) {
    const auto items = all_of(ItemSample(100'000, {}, 20, 3));

    EXPECT_EQ(all_of(ItemSample(100'000, {}, 20, 3)), items);
    EXPECT_NE(all_of(ItemSample(100'000, {}, 20, 4)), items);
}

TEST(ItemSample, IsAllItemsWhereMoreAreWanted) {
    EXPECT_THAT(all_of(ItemSample(5, {}, std::numeric_limits<std::uint64_t>::max(), 1)), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_EQ(ItemSample(5, {1}, 100, 1).wanted(), 4U);
    EXPECT_THAT(all_of(ItemSample(0, {}, 7, 1)), IsEmpty());
}

TEST(ItemSample, PassesOverItemsThatWereLeftOut) {
    EXPECT_THAT(all_of(ItemSample(6, {4, 0, 4, 99}, 6, 1)), ElementsAre(1, 2, 3, 5));
    EXPECT_THAT(all_of(ItemSample(2, {0, 1}, 6, 1)), IsEmpty());
}

/// 40,000 draws of 3 of 10 items: each is drawn 12,000 times, with a standard deviation of 92; six of these are
/// allowed.
TEST(ItemSample, DrawsEachItemEquallyOften) {
    constexpr std::uint32_t draws = 40'000;
    std::array<double, 10> drawn{};

    for (std::uint64_t seed = 0; seed < draws; ++seed) {
        for (const std::uint64_t item : all_of(ItemSample(10, {}, 3, seed))) {
            ++drawn.at(item);
        }
    }

    for (const double count : drawn) {
        EXPECT_NEAR(count, draws * 0.3, 6 * std::sqrt(draws * 0.3 * 0.7));
    }
}

}  // namespace
}  // namespace sluice::test
