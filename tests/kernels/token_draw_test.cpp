#include "kernels/host/token_draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite_score = std::numeric_limits<float>::infinity();

using TokenScores = std::vector<float>;

std::uint32_t chosen_token(const TokenSampling& sampling, const TokenScores& scores, float uniform = 0.5F) {
    const std::array<std::uint32_t, 2> before{0, 1};
    return TokenDraw(sampling, static_cast<std::uint32_t>(scores.size())).choose(scores, {before}, uniform);
}

const std::vector<TokenSampling>& sampling_rules() {
    static const std::vector<TokenSampling> rules{{.temperature = 0.7F},
                                                  {.repetition_penalty = 1.5F},
                                                  {.top_k = 2},
                                                  {.top_k = 3, .top_p = 0.9F},
                                                  {.top_p = 0.9F}};
    return rules;
}

/// Where the tokens that may be drawn begin and end in [0, 1), by sorting and in double precision; empty ranges for the
/// others. Without a penalty.
std::vector<std::pair<double, double>> plain_ranges(const TokenSampling& sampling, const TokenScores& scores) {
    std::vector<std::size_t> order(scores.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t token) { return scores[token]; });
    const auto weight = [&](std::size_t token) {
        return std::exp((static_cast<double>(scores[token]) - static_cast<double>(scores[order[0]])) /
                        static_cast<double>(sampling.temperature));
    };
    order.resize(sampling.top_k == 0 ? order.size() : std::min<std::size_t>(sampling.top_k, order.size()));
    double all = 0;
    for (const std::size_t token : order) {
        all += weight(token);
    }
    double left = static_cast<double>(sampling.top_p) * all;
    std::vector<double> kept(scores.size());
    all = 0;
    for (const std::size_t token : order) {
        if (left > 0 || sampling.top_p == 1) {
            kept[token] = weight(token);
            left -= kept[token];
            all += kept[token];
        }
    }
    std::vector<std::pair<double, double>> ranges;
    double sum = 0;
    for (const double of : kept) {
        ranges.emplace_back(sum / all, (sum + of) / all);
        sum += of;
    }
    return ranges;
}

TEST(TokenDraw, DrawsByThePlainFormulas) {
    std::mt19937 random{std::random_device{}()};
    std::normal_distribution<float> normal(0, 2);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (const TokenSampling& rule :
         {TokenSampling{.temperature = 0.8F}, TokenSampling{.temperature = 0.8F, .top_k = 40},
          TokenSampling{.temperature = 1.3F, .top_p = 0.9F}, TokenSampling{.temperature = 300, .top_p = 0.3F},
          TokenSampling{.temperature = 0.05F, .top_k = 1000, .top_p = 0.999F},
          TokenSampling{.temperature = 0.02F, .top_k = 4000}}) {
        for (const std::size_t vocabulary : {1U, 2U, 37U, 5000U}) {
            TokenScores scores(vocabulary);
            std::ranges::generate(scores, [&] { return normal(random); });
            const auto ranges = plain_ranges(rule, scores);
            for (int draw = 0; draw < 50; ++draw) {
                const float u = std::min(uniform(random), 0.9999F);

                const auto [begin, end] = ranges[chosen_token(rule, scores, u)];

                EXPECT_GT(end, begin) << "temperature " << rule.temperature << ", vocabulary " << vocabulary;
                EXPECT_LE(begin, static_cast<double>(u) + 1e-5);
                EXPECT_GE(end, static_cast<double>(u) - 1e-5);
            }
        }
    }
}

TEST(TokenDraw, PunishesATokenOnceHoweverOftenTheTextHasIt) {
    TokenDraw draw({.repetition_penalty = 2, .temperature = 0}, 3);
    const std::array<std::uint32_t, 3> repeated{0, 0, 0};
    const std::array<std::uint32_t, 1> other{1};
    const TokenScores scores{8, 3, 1};

    EXPECT_EQ(draw.choose(scores, {repeated, repeated}, 0), 0U);  // 4 is still more than 3
    EXPECT_EQ(draw.choose({{-1, -1.5F, -3}}, {repeated}, 0), 1U);
    EXPECT_EQ(draw.choose({{-1.5F, -1, -4}}, {other}, 0), 0U);  // token 0 is free again
}

TEST(TokenDraw, KeepsTheFirstOfEqualScoresOfWhichZerosAre) {
    for (const TokenSampling& rule : {TokenSampling{.top_k = 1}, TokenSampling{.top_p = 0.1F}}) {
        EXPECT_EQ(chosen_token(rule, {-1, -0.0F, 0.0F}, 0.999F), 1U);
        EXPECT_EQ(chosen_token(rule, {-1, 0.0F, -0.0F}, 0.999F), 1U);
    }
    EXPECT_EQ(chosen_token({.top_p = 0}, {1, 3, 3, 2}, 0.999F), 1U);
}

TEST(TokenDraw, NeverTakesANaNAsTheLargest) {
    for (const float penalty : {1.0F, 1.5F}) {
        const TokenSampling greedy{.repetition_penalty = penalty, .temperature = 0};

        EXPECT_EQ(chosen_token(greedy, {nan_score, -7, -3}), 2U) << "behind the first one";
        EXPECT_EQ(chosen_token(greedy, {-nan_score, -3, -7}), 1U);
        EXPECT_EQ(chosen_token(greedy, {2, nan_score, 9}), 2U);
        EXPECT_EQ(chosen_token(greedy, {9, 2, nan_score}), 0U);
        EXPECT_EQ(chosen_token(greedy, {nan_score, infinite_score, 3}), 1U);
    }
}

TEST(TokenDraw, TakesTheFirstTokenWhereNoScoreIsMoreThanMinusInfinity) {
    for (const float uniform : {0.0F, 0.5F, 0.999F}) {
        for (TokenSampling rule : sampling_rules()) {
            EXPECT_EQ(chosen_token(rule, {nan_score, nan_score, nan_score}, uniform), 0U);
            EXPECT_EQ(chosen_token(rule, {nan_score, -infinite_score, nan_score}, uniform), 0U);
            EXPECT_EQ(chosen_token(rule, {-infinite_score, -infinite_score, -infinite_score}, uniform), 0U);
            rule.temperature = 0;
            EXPECT_EQ(chosen_token(rule, {nan_score, nan_score, nan_score}, uniform), 0U);
            EXPECT_EQ(chosen_token(rule, {nan_score, -infinite_score, nan_score}, uniform), 0U);
        }
    }
}

TEST(TokenDraw, DrawsAsIfANaNWereMinusInfinity) {
    for (const TokenSampling& rule : sampling_rules()) {
        for (const float uniform : {0.0F, 0.2F, 0.5F, 0.8F, 0.999F}) {
            for (std::size_t bad = 0; bad < 5; ++bad) {
                TokenScores with_nan{1.5F, 2, 0.5F, 1, 1.75F};
                TokenScores without = with_nan;
                with_nan[bad] = nan_score;
                without[bad] = -infinite_score;

                const std::uint32_t token = chosen_token(rule, with_nan, uniform);

                EXPECT_EQ(token, chosen_token(rule, without, uniform));
                EXPECT_NE(token, bad);
            }
        }
    }
}

TEST(TokenDraw, DrawsTheFirstOfTheScoresThatAreInfinite) {
    for (const TokenSampling& rule : sampling_rules()) {
        for (const float uniform : {0.0F, 0.5F, 0.999F}) {
            EXPECT_EQ(chosen_token(rule, {nan_score, 3, infinite_score, infinite_score, 5}, uniform), 2U);
        }
    }
}

TEST(TokenDraw, GivesOneNaNAsTheLogProbabilityWhereAScoreIsNaNOrTheLargestInfinite) {
    constexpr std::uint32_t quiet = 0x7FC00000;
    for (const TokenScores& scores :
         {TokenScores{nan_score, 1, 2}, TokenScores{1, 2, -nan_score}, TokenScores{1, infinite_score, 2},
          TokenScores(3, nan_score), TokenScores(3, -infinite_score)}) {
        for (std::uint32_t token = 0; token < 3; ++token) {
            TokenDraw draw({}, 3);
            EXPECT_EQ(std::bit_cast<std::uint32_t>(draw.log_probability(scores, token)), quiet);
        }
    }
    EXPECT_NEAR(TokenDraw({}, 3).log_probability({{1, -infinite_score, 1}}, 0), -0.6931472F, 1e-6F);
}

}  // namespace
}  // namespace sluice
