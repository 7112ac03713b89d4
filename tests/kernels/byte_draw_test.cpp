#include "kernels/host/byte_draw.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/philox.hpp"
#include "tests/kernels/layer_runner.hpp"
#include "tests/support/gru_reference.hpp"

namespace sluice {
namespace {

std::vector<float> some_scores(std::uint32_t seed) {
    std::vector<float> scores = random_floats(gru_symbols, seed);
    for (float& score : scores) {
        score *= 4;
    }
    return scores;
}

ByteDraw looking_at(const std::vector<float>& scores, const Sampling& sampling) {
    ByteDraw draw(sampling);
    draw.look_at(scores.data());
    return draw;
}

TEST(PlainLog, IsTheLogarithm) {
    for (double x = 1e-3; x < 1e6; x *= 1.01) {
        EXPECT_NEAR(plain_log(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
    }
    EXPECT_EQ(plain_log(1), 0);
    EXPECT_TRUE(std::isnan(plain_log(std::numeric_limits<double>::quiet_NaN())));
}

TEST(FirstLargest, IsNeverANumberThatIsNone) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(first_largest(std::vector{1.0F, 3.0F, 2.0F, 3.0F}), 1U);
    EXPECT_EQ(first_largest(std::vector{NAN, -5.0F, 2.0F, NAN}), 2U);
    EXPECT_EQ(first_largest(std::vector{-infinity, -7.0F}), 1U);
    EXPECT_EQ(first_largest(std::vector{1.0F, infinity, infinity}), 1U);
    EXPECT_EQ(first_largest(std::vector{NAN, NAN, -infinity}), 0U);
}

/// Pearson's test, over all bytes that may be chosen: the statistic of a right sampler is above its mean by more than
/// five standard deviations less than once in a million times, and the draws are the same in every run.
TEST(ByteDraw, DrawsByTheExactDistribution) {
    constexpr std::uint32_t draws = 50'000;
    for (const Sampling& sampling : {Sampling{}, Sampling{.temperature = 0.5F}, Sampling{.temperature = 3},
                                     Sampling{.top_k = 7}, Sampling{.temperature = 2, .top_k = 40}}) {
        const std::vector<float> scores = some_scores(5);
        const ByteDraw draw = looking_at(scores, sampling);
        const std::vector<double> exact =
            test::reference_probabilities(std::vector<double>(scores.begin(), scores.end()), sampling);
        std::vector<double> counts(gru_symbols);
        for (std::uint32_t i = 0; i < draws; ++i) {
            counts[draw.choose(uniform_below_one(random_words(1, {.item = i, .number = 0}).words[0]))] += 1;
        }
        double statistic = 0;
        double freedom = -1;
        double rest_expected = 0;  // of bytes too rare for the test, together
        double rest = 0;
        for (std::size_t i = 0; i < gru_symbols; ++i) {
            const double expected = exact[i] * draws;
            if (exact[i] == 0) {
                EXPECT_EQ(counts[i], 0) << i;
            } else if (expected < 10) {
                rest_expected += expected;
                rest += counts[i];
            } else {
                statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
                freedom += 1;
            }
        }
        if (rest_expected >= 10) {
            statistic += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
            freedom += 1;
        }
        EXPECT_GE(freedom, 6);
        EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom)) << sampling.temperature << ", " << sampling.top_k;
    }
}

TEST(ByteDraw, TakesTheFirstSumThatIsLarger) {
    std::vector<float> scores(gru_symbols, -1000);
    scores[10] = scores[20] = scores[30] = scores[200] = 0;
    const ByteDraw draw = looking_at(scores, {});

    EXPECT_EQ(draw.choose(0), 0) << "what is next to impossible still has a share above 0";
    EXPECT_EQ(draw.choose(0.125F), 10);
    EXPECT_EQ(draw.choose(0.2499F), 10);
    EXPECT_EQ(draw.choose(0.25F), 20) << "a sum that equals the draw is not larger";
    EXPECT_EQ(draw.choose(0.75F), 200);
    EXPECT_EQ(draw.choose(1), 255) << "no sum is larger";
}

TEST(ByteDraw, KeepsToTheLargestScoresAndOfEqualOnesToTheFirst) {
    std::vector<float> scores(gru_symbols, 1);
    scores[100] = 2;
    const ByteDraw draw = looking_at(scores, {.top_k = 3});
    std::set<int> chosen;
    for (float uniform = 0; uniform <= 1; uniform += 1.0F / 64) {
        chosen.insert(draw.choose(uniform));
    }

    EXPECT_EQ(chosen, (std::set<int>{0, 1, 100}));
    EXPECT_EQ(draw.choose(1), 100) << "the last that may be chosen";
}

TEST(ByteDraw, IsGreedyAtTemperatureNothing) {
    std::vector<float> scores = some_scores(6);
    scores[7] = scores[9] = 100;

    const ByteDraw draw = looking_at(scores, {.temperature = 0});

    EXPECT_EQ(draw.choose(0.999F), 7);
}

TEST(ByteDraw, TellsTheProbabilityOfTheScoresThemselves) {
    const std::vector<float> scores = some_scores(7);
    const std::vector<double> exact =
        test::reference_probabilities(std::vector<double>(scores.begin(), scores.end()), {});
    for (const Sampling& sampling :
         {Sampling{}, Sampling{.temperature = 0}, Sampling{.temperature = 0.1F, .top_k = 2}}) {
        const ByteDraw draw = looking_at(scores, sampling);
        for (std::size_t i = 0; i < gru_symbols; ++i) {
            EXPECT_NEAR(draw.log_probability(static_cast<std::uint8_t>(i)), std::log(exact[i]), 2e-6);
        }
    }
}

TEST(ByteDraw, TellsHowCloseADrawIsToAnotherByte) {
    std::vector<float> scores(gru_symbols, -20);
    scores[10] = std::log(0.25F);
    scores[20] = std::log(0.5F);
    scores[30] = std::log(0.25F);
    const ByteDraw draw = looking_at(scores, {.top_k = 3});

    EXPECT_NEAR(draw.doubt(0.05F).distance, 0.2, 1e-6);  // nothing is before the first
    EXPECT_NEAR(draw.doubt(0.3F).distance, 0.05, 1e-6);
    EXPECT_NEAR(draw.doubt(0.74F).distance, 0.01, 1e-6);
    EXPECT_NEAR(draw.doubt(0.99F).distance, 0.24, 1e-6);  // nor behind the last
}

TEST(ByteDraw, TellsHowCloseAScoreIsToOneThatCounts) {
    std::vector<float> scores(gru_symbols, -3);
    scores[7] = 2;
    scores[8] = 1.75F;
    scores[9] = 1;

    EXPECT_EQ(looking_at(scores, {.temperature = 0}).doubt(0.5F).gap, 0.25F);
    EXPECT_EQ(looking_at(scores, {.temperature = 0}).doubt(0.5F).distance, TextDoubt::none);
    EXPECT_EQ(looking_at(scores, {.top_k = 2}).doubt(0.5F).gap, 0.75F);
    EXPECT_EQ(looking_at(scores, {.top_k = gru_symbols}).doubt(0.5F).gap, TextDoubt::none);
}

TEST(ByteDraw, HasADoubtThatIsNoNumberOfScoresThatAreNone) {
    std::vector<float> scores(gru_symbols, 0);
    scores[9] = NAN;

    EXPECT_TRUE(std::isnan(looking_at(scores, {}).doubt(0.5F).distance));
    EXPECT_TRUE(std::isnan(looking_at(scores, {.temperature = 0}).doubt(0.5F).gap));
    EXPECT_TRUE(std::isnan(least({}, looking_at(scores, {}).doubt(0.5F)).distance));
    EXPECT_TRUE(std::isnan(least(looking_at(scores, {}).doubt(0.5F), {}).distance));
}

TEST(ByteDraw, LetsANumberThatIsNoneBeSeen) {
    std::vector<float> scores = some_scores(8);
    scores[3] = std::numeric_limits<float>::quiet_NaN();
    for (const Sampling& sampling : {Sampling{}, Sampling{.temperature = 0}, Sampling{.top_k = 4}}) {
        const ByteDraw draw = looking_at(scores, sampling);

        EXPECT_TRUE(std::isnan(draw.log_probability(draw.choose(0.5F))));
    }
}

}  // namespace
}  // namespace sluice
