#include "tools/runtime/suspects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

namespace sluice {
namespace {

using Items = std::set<std::uint64_t>;

bool holds_any(const ItemRange& range, const Items& items) {
    const auto first = items.lower_bound(range.first);
    return first != items.end() && *first < range.first + range.count;
}

struct Search {
    int deaths = 0;
    std::vector<std::uint64_t> failed;
    std::uint64_t computed = 0;
};

struct Death {};

/// One attempt after the other, each of which ends at the first range that holds poison.
Search search(const Chunk& chunk, const Items& poison) {
    Search search;
    std::vector<ItemRange> deadly;
    const auto is_deadly = [&](const ItemRange& range) { return std::ranges::count(deadly, range) != 0; };
    for (;;) {
        search.computed = 0;
        const auto compute = [&](const ItemRange& range) {
            if (holds_any(range, poison)) {
                deadly.push_back(range);
                throw Death();
            }
            search.computed += range.count;
        };
        try {
            search.failed = compute_in_halves(chunk, is_deadly, compute);
            return search;
        } catch (const Death&) {
            ++search.deaths;
        }
    }
}

class Halving : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Halving, FindsEveryPoisonousItemInTheLogarithmOfTheChunk) {
    const std::uint32_t count = GetParam();
    const Chunk chunk{.id = 3, .first = 1000, .count = count};
    const int most = std::max(1, static_cast<int>(std::bit_width(count - 1)));  // the logarithm, rounded up

    for (std::uint64_t item = chunk.first; item < chunk.first + count; ++item) {
        const Search found = search(chunk, {item});

        EXPECT_THAT(found.failed, testing::ElementsAre(item));
        EXPECT_EQ(found.computed, count - 1);
        EXPECT_LE(found.deaths, most) << item;
    }
}

TEST_P(Halving, ComputesEveryItemOnceWhenNoneIsPoisonous) {
    const Chunk chunk{.id = 3, .first = 1000, .count = GetParam()};

    const Search found = search(chunk, {});

    EXPECT_TRUE(found.failed.empty());
    EXPECT_EQ(found.computed, chunk.count);
    EXPECT_EQ(found.deaths, 0);
}

INSTANTIATE_TEST_SUITE_P(Counts, Halving, testing::Values(1, 2, 3, 7, 8, 64, 101));

TEST(Halving, FindsSeveral) {
    const Chunk chunk{.id = 0, .first = 0, .count = 64};

    const Search found = search(chunk, {0, 1, 33, 63});

    EXPECT_THAT(found.failed, testing::ElementsAre(0, 1, 33, 63));
    EXPECT_EQ(found.computed, 60U);
}

}  // namespace
}  // namespace sluice
