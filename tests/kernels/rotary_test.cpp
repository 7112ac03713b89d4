#include "kernels/rotary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr DecoderShape two_heads{.vocabulary = 2,
                                 .positions = 9000,
                                 .width = 128,
                                 .layers = 1,
                                 .heads = 2,
                                 .inner = 1,
                                 .rotary = RotaryPositions{.base = 5e5F}};

TEST(Rotary, TurnsByTheAngleOfThePosition) {
    const std::vector<float> table = rotary_table(two_heads);

    ASSERT_EQ(table.size(), rotary_floats(two_heads));
    for (const std::size_t position : {0U, 1U, 77U, 8999U}) {
        for (std::size_t i = 0; i < 32; ++i) {
            const double angle = static_cast<double>(position) * std::pow(5e5, -static_cast<double>(i) / 32);
            EXPECT_NEAR(table[position * 64 + i], std::cos(angle), 6e-8);
            EXPECT_NEAR(table[position * 64 + 32 + i], std::sin(angle), 6e-8);
        }
    }
}

/// Waves of many positions become `factor` times as long, those of few stay.
TEST(Rotary, StretchesWhatIsSlow) {
    DecoderShape shape = two_heads;
    shape.rotary->stretch = {.factor = 8, .low_frequency = 1, .high_frequency = 4, .original_positions = 512};
    const std::vector<float> table = rotary_table(shape);
    const std::vector<float> plain = rotary_table(two_heads);
    bool between = false;
    for (std::size_t i = 0; i < 32; ++i) {
        const double wave = 2 * std::numbers::pi * std::pow(5e5, static_cast<double>(i) / 32);
        const float sine = table[8 * 64 + 32 + i];
        if (wave > 512) {
            EXPECT_NEAR(sine, plain[64 + 32 + i], 1e-7) << i;
        } else if (wave < 128) {
            EXPECT_EQ(sine, plain[8 * 64 + 32 + i]) << i;
        } else {
            between = true;
            EXPECT_GT(sine, plain[64 + 32 + i]);
            EXPECT_LT(sine, plain[8 * 64 + 32 + i]);
        }
    }
    EXPECT_TRUE(between);
}

TEST(Rotary, KeepsThePositionsOfTexts) {
    EXPECT_EQ(shape_for_texts(two_heads, 100).positions, 100U);
    DecoderShape learned = two_heads;
    learned.rotary.reset();
    EXPECT_EQ(shape_for_texts(learned, 100), learned);
    EXPECT_THROW((void)shape_for_texts(two_heads, 9001), ContractViolation);
    DecoderShape odd = two_heads;
    odd.head_size = 3;
    EXPECT_THROW((void)shape_for_texts(odd, 100), ContractViolation);
}

}  // namespace
}  // namespace sluice
