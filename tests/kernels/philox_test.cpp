#include "kernels/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace sluice {
namespace {

// The known answers of Random123 1.14.0, kat_vectors.
static_assert(philox4x32({{0, 0, 0, 0}}, 0, 0) == Random128{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox4x32({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff) ==
              Random128{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0) ==
              Random128{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

TEST(Philox, GivesThePublishedAnswersAtRunTimeToo) {
    volatile std::uint32_t key = 0x299f31d0;  // nothing is computed by the compiler

    EXPECT_EQ(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, key),
              (Random128{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Philox, TakesSeedItemDrawAndPurposeInFull) {
    constexpr std::uint64_t seed = 0x299f31d0'a4093822;
    constexpr Draw draw{.item = 0x85a308d3'243f6a88, .number = 0x13198a2e, .purpose = 0x03707344};
    static_assert(random_words(seed, draw) == Random128{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

    std::set<std::uint32_t> first_words;
    for (int bit = 0; bit < 64; ++bit) {
        first_words.insert(random_words(seed ^ (std::uint64_t{1} << bit), draw).words[0]);
        Draw other = draw;
        other.item ^= std::uint64_t{1} << bit;
        first_words.insert(random_words(seed, other).words[0]);
        other = draw;
        (bit < 32 ? other.number : other.purpose) ^= std::uint32_t{1} << (bit % 32);
        first_words.insert(random_words(seed, other).words[0]);
    }

    EXPECT_EQ(first_words.size(), 3U * 64U) << "each bit counts";
}

TEST(Philox, GivesUniformNumbersBelowOne) {
    static_assert(uniform_below_one(0) == 0.0F && uniform_below_one(0xffffffff) == 1.0F - 0x1p-24F);
    constexpr int draws = 1 << 16;

    double sum = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < draws; ++i) {
        for (const std::uint32_t word : random_words(7, {.item = i / 16, .number = i % 16}).words) {
            const double u = static_cast<double>(uniform_below_one(word));
            sum += u;
            squares += u * u;
        }
    }

    // Six standard deviations of the mean and of the mean square of 4 * draws uniform numbers.
    const double count = 4.0 * draws;
    EXPECT_NEAR(sum / count, 1.0 / 2, 6 * std::sqrt(1.0 / 12 / count));
    EXPECT_NEAR(squares / count, 1.0 / 3, 6 * std::sqrt(4.0 / 45 / count));
}

}  // namespace
}  // namespace sluice
