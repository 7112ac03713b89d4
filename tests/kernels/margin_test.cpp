#include "kernels/margin.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::size_t classes = 4;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Scores {
    std::vector<float> fast;
    std::vector<float> exact;
};

/// Fast scores are off by -(class) * shift, and by up to `noise` on top.
Scores scores(std::size_t items, float shift, float noise, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> draw_score;
    std::uniform_real_distribution<float> draw_noise(-noise, noise);
    Scores drawn;
    for (std::size_t i = 0; i < items * classes; ++i) {
        drawn.exact.push_back(draw_score(engine));
        drawn.fast.push_back(drawn.exact.back() - static_cast<float>(i % classes) * shift + draw_noise(engine));
    }
    return drawn;
}

TEST(Margin, LearnsWhatTheFastScoresAreOffByOnAverage) {
    const Scores drawn = scores(4000, 0.5F, 0.01F, std::random_device()());
    EXPECT_THAT(calibrate_margin(drawn.fast, drawn.exact, classes).offsets,
                testing::Pointwise(testing::FloatNear(1e-3F), {0.0F, 0.5F, 1.0F, 1.5F}));
}

/// The scores' size that a bound counts in.
float size_of(const Margin& margin, const float* fast) {
    float largest = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        largest = std::max(largest, std::abs(fast[c] + margin.offsets[c]));
    }
    return margin.usual + largest;
}

TEST(Margin, BoundsTheDifferenceOfTwoScoresByTheWorstSeen) {
    for (const float sign : {1.0F, -1.0F}) {
        Scores drawn = scores(1000, 0, 0, 1);
        float* const odd = &drawn.fast[100 * classes];
        odd[0] += sign * 0.25F;
        odd[1] -= sign * 0.5F;
        const Margin margin = calibrate_margin(drawn.fast, drawn.exact, classes);
        // The means move by a thousandth of that.
        EXPECT_NEAR(margin.bound * size_of(margin, odd), 0.75F, 2e-3F);
    }
}

TEST(Margin, BoundsItBySixDeviationsToo) {
    // Errors of a normal distribution: the worst of 1000 items is nearer.
    Scores drawn = scores(1000, 0, 0, 1);
    std::mt19937 engine(2);
    std::normal_distribution<float> draw(0.0F, 0.01F);
    for (std::size_t i = 0; i < drawn.fast.size(); i += classes) {
        float largest = 0;
        for (std::size_t c = 0; c < classes; ++c) {
            largest = std::max(largest, std::abs(drawn.exact[i + c]));
        }
        drawn.fast[i] += draw(engine) * (1 + largest);
    }
    EXPECT_NEAR(calibrate_margin(drawn.fast, drawn.exact, classes).bound, 0.06F, 0.012F);
}

TEST(Margin, KnowsTheScoresUsualSize) {
    const Scores drawn = scores(4000, 0.5F, 0, 1);
    EXPECT_NEAR(calibrate_margin(drawn.fast, drawn.exact, classes).usual, 1.0F, 0.03F);
}

TEST(Margin, LetsNoFirstMaximumOfItsItemsChangeUnseen) {
    const Scores drawn = scores(5000, 0.1F, 0.05F, std::random_device()());
    const Margin margin = calibrate_margin(drawn.fast, drawn.exact, classes);
    std::size_t certain = 0;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < drawn.fast.size(); i += classes) {
        std::size_t guess = 0;
        std::size_t truth = 0;
        for (std::size_t c = 1; c < classes; ++c) {
            guess = drawn.fast[i + c] + margin.offsets[c] > drawn.fast[i + guess] + margin.offsets[guess] ? c : guess;
            truth = drawn.exact[i + c] > drawn.exact[i + truth] ? c : truth;
        }
        float second = -infinity;
        for (std::size_t c = 0; c < classes; ++c) {
            second = c == guess ? second : std::max(second, drawn.fast[i + c] + margin.offsets[c]);
        }
        const bool is_certain =
            drawn.fast[i + guess] + margin.offsets[guess] - second >= margin.bound * size_of(margin, &drawn.fast[i]);
        certain += is_certain ? 1 : 0;
        changed += guess != truth ? 1 : 0;
        EXPECT_TRUE(!is_certain || guess == truth) << "item " << i / classes;
    }
    EXPECT_GT(certain, 1000U);
    EXPECT_GT(changed, 20U);
}

TEST(Margin, CallsNothingCertainAfterTooFewItems) {
    const Scores few = scores(fewest_margin_items - 1, 0, 0.1F, 1);
    EXPECT_EQ(calibrate_margin(few.fast, few.exact, classes).bound, infinity);
    EXPECT_EQ(calibrate_margin({}, {}, classes).bound, infinity);
    const Scores enough = scores(fewest_margin_items, 0, 0.1F, 1);
    EXPECT_TRUE(std::isfinite(calibrate_margin(enough.fast, enough.exact, classes).bound));
}

TEST(Margin, CallsNothingCertainWhenAScoreIsNoNumber) {
    for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
        Scores drawn = scores(1000, 0, 0.1F, 1);
        drawn.fast[777] = bad;
        const Margin margin = calibrate_margin(drawn.fast, drawn.exact, classes);
        EXPECT_EQ(margin.bound, infinity);
        EXPECT_THAT(margin.offsets, testing::Each(0.0F));
    }
}

/// Equal scores say nothing of which is the largest of the exact ones.
TEST(Margin, CallsNothingCertainWhenScoresOfNoSizeErr) {
    std::vector<float> exact(1000 * classes);
    const std::vector<float> fast(exact.size());
    EXPECT_EQ(calibrate_margin(fast, exact, classes).bound, 0);
    exact[0] = 1;
    exact[classes] = -1;  // their mean is 0

    EXPECT_EQ(calibrate_margin(fast, exact, classes).bound, infinity);
}

TEST(Margin, WantsScoresOfTheSameItems) {
    const std::vector<float> five(5);
    EXPECT_THROW(static_cast<void>(calibrate_margin(five, five, classes)), ContractViolation);
    EXPECT_THROW(static_cast<void>(calibrate_margin(five, {}, classes)), ContractViolation);
}

}  // namespace
}  // namespace sluice
