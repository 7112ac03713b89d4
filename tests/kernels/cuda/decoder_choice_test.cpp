#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/doubt_bounds.hpp"
#include "tests/kernels/cuda/decoder_choices.hpp"

namespace sluice {
namespace {

using test::Choices;
using test::DecoderPiecesOnGpu;
using test::infinity;
using test::Known;
using test::Ties;

TEST_F(DecoderPiecesOnGpu, TokensAreChosenAsTheHostChoosesThem) {
    const TokenSampling rules[] = {
        {.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 0},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 0.7F, .temperature = 0, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 5, .seed = 4},
        {.max_prompt = 2, .max_new = 2, .temperature = 1.5F, .top_p = 0.9F, .seed = 5},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.3F, .top_p = 0.9F, .seed = 6},  // of few tokens
        {.max_prompt = 2, .max_new = 2, .temperature = 0.8F, .top_k = 50, .top_p = 0.95F, .seed = 7},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.8F, .top_k = 150, .seed = 8},
        {.max_prompt = 2, .max_new = 2, .temperature = 20, .top_p = 0.9F, .seed = 9},  // of most
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.2F, .temperature = 0.9F, .top_k = 40, .top_p = 0.7F},
        {.max_prompt = 2, .max_new = 2, .temperature = 90, .top_k = 2500, .top_p = 0.8F},   // scores share few bins
        {.max_prompt = 2, .max_new = 2, .temperature = 0.01F, .top_k = 30, .top_p = 0.6F},  // or lie beyond the last
    };
    for (const TokenSampling& rule : rules) {
        for (const std::uint32_t vocabulary : {11U, 255U, 1000U, 3001U, 50'257U}) {
            for (const Known known : {Known::nothing, Known::sums}) {
                Choices choices(rule, 40, vocabulary);

                choices.choose(known);

                choices.expect_hosts_tokens();
                choices.expect_plain_doubts();
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, TheLargestScoreIsFoundAmongTiles) {
    for (const std::uint32_t vocabulary : {1U, 11U, 256U, 3001U, 10'000U}) {
        for (const bool log_probabilities : {false, true}) {
            Choices choices({.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = log_probabilities},
                            40, vocabulary);

            choices.take_best();

            choices.expect_hosts_tokens();
            choices.expect_plain_doubts();
        }
    }
}

TEST_F(DecoderPiecesOnGpu, TokensAreDrawnBySumsOfScores) {
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        for (const MatrixInstructions way : ways()) {
            if (has_parts(precision) && way == MatrixInstructions::mma) {
                continue;  // which it does not have
            }
            for (const float temperature : {1e-40F, 0.3F, 1.0F, 20.0F}) {
                const TokenSampling rule{
                    .max_prompt = 2, .max_new = 2, .temperature = temperature, .seed = 9, .log_probabilities = true};
                for (const std::uint32_t vocabulary : {1U, 11U, 64U, 65U, 255U, 3001U, 50'257U}) {
                    SCOPED_TRACE(testing::Message() << name_of(way) << ", precision " << static_cast<int>(precision)
                                                    << ", temperature " << temperature);
                    Choices choices(rule, 40, vocabulary);

                    choices.draw_by_sums(precision, way);

                    choices.expect_hosts_tokens();
                    if (temperature >= 1) {  // else tokens behind the drawn one may weigh nothing, and count as none
                        choices.expect_plain_doubts();
                    }
                }
            }
        }
    }
}

/// They come from the same sums at a temperature of 1, and at others from sums of their own.
TEST_F(DecoderPiecesOnGpu, LogProbabilitiesChangeNoDraw) {
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        for (const MatrixInstructions way : ways()) {
            if (has_parts(precision) && way == MatrixInstructions::mma) {
                continue;  // which it does not have
            }
            for (const float temperature : {0.7F, 1.0F, 1.5F}) {
                for (const std::uint32_t vocabulary : {65U, 1001U}) {
                    SCOPED_TRACE(testing::Message() << name_of(way) << ", " << name_of(precision) << ", temperature "
                                                    << temperature << ", of " << vocabulary);
                    TokenSampling rule{.max_prompt = 2, .max_new = 2, .temperature = temperature, .seed = 4};
                    Choices without(rule, 60, vocabulary);
                    rule.log_probabilities = true;
                    Choices with(rule, 60, vocabulary);

                    without.draw_by_sums(precision, way);
                    with.draw_by_sums(precision, way);

                    for (std::uint32_t i = 0; i < 60; ++i) {
                        ASSERT_EQ(with.token(i), without.token(i)) << i;
                        ASSERT_EQ(with.doubt(i).doubt, without.doubt(i).doubt) << i;
                    }
                }
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, ADrawByASumThatIsNoNumberIsDoubtful) {
    for (const float temperature : {0.7F, 1.0F}) {
        Choices choices({.max_prompt = 2, .max_new = 2, .temperature = temperature, .log_probabilities = true}, 3, 700);

        choices.draw_by_sums(Precision::bf16, gpu().instructions(), [](std::vector<decoder::ScoreSum>& sums) {
            sums[decoder::groups_of(700) + 10].sum = NAN;  // the last one of the second text
        });

        for (std::uint32_t i = 0; i < 3; ++i) {
            EXPECT_EQ(std::isnan(choices.doubt(i).doubt.distance), i == 1) << i;
            EXPECT_EQ(std::isnan(choices.log_probability(i)), i == 1) << i;
        }
        EXPECT_EQ(choices.token(1), 0U);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(choices.log_probability(1)), 0x7FC00000U);
    }
}

/// A NaN counts as minus infinity, drawn or not; where the largest score is infinite, the first that has it is taken.
/// No such text is certain.
TEST_F(DecoderPiecesOnGpu, ScoresThatAreNoNumbersAreTakenAsTheHostTakesThem) {
    constexpr std::uint32_t vocabulary = 700;
    const TokenSampling greedy{.max_prompt = 2, .max_new = 2, .temperature = 0};
    const TokenSampling likely{.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = true};
    const TokenSampling drawn{.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true};
    const TokenSampling cut{.max_prompt = 2, .max_new = 2, .temperature = 1.2F, .top_k = 50, .top_p = 0.9F};
    const TokenSampling punished{.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 3};
    const std::function<void(Choices&)> by_scores = [](Choices& choices) { choices.choose(); };
    const std::function<void(Choices&)> by_sums = [](Choices& choices) { choices.choose(Known::sums); };
    const std::function<void(Choices&)> by_tiles = [](Choices& choices) { choices.take_best(); };
    for (const auto& [sampling, choose] :
         {std::pair(greedy, by_scores), std::pair(greedy, by_tiles), std::pair(likely, by_scores),
          std::pair(likely, by_sums), std::pair(likely, by_tiles), std::pair(drawn, by_scores),
          std::pair(drawn, by_sums), std::pair(cut, by_scores), std::pair(cut, by_sums), std::pair(punished, by_scores),
          std::pair(punished, by_sums)}) {
        SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", top_k " << sampling.top_k);
        Choices choices(sampling, 7, vocabulary);
        choices.set_score(0, 0, NAN);
        choices.set_score(1, 600, NAN);
        choices.set_score(2, 300, infinity);
        choices.set_score(2, 600, infinity);
        for (std::uint32_t token = 0; token < vocabulary; ++token) {
            choices.set_score(3, token, token == 400 ? -infinity : NAN);
        }
        choices.set_score(4, 100, -infinity);
        for (std::uint32_t token = 128; token < 192; ++token) {  // a whole group
            choices.set_score(5, token, -infinity);
        }

        choose(choices);

        choices.expect_hosts_tokens();
        for (std::uint32_t i = 0; i < 7; ++i) {
            EXPECT_EQ(std::isnan(choices.doubt(i).doubt.gap), i < 6) << i;
            EXPECT_EQ(std::isnan(choices.doubt(i).doubt.distance), i < 6) << i;
            if (sampling.log_probabilities) {
                EXPECT_EQ(std::isnan(choices.log_probability(i)), i < 4) << i;
            }
        }
        EXPECT_EQ(choices.token(2), 300U);
        EXPECT_EQ(choices.token(3), 0U);
    }
}

TEST_F(DecoderPiecesOnGpu, ChoicesAmongOtherTokensAreToldApart) {
    const TokenSampling rule{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_k = 20, .seed = 8};
    TokenSampling wider = rule;
    wider.top_k = 21;
    Choices choices(rule, 40, 1000);
    Choices again(rule, 40, 1000);
    Choices of_more(wider, 40, 1000);

    choices.choose();
    again.choose();
    of_more.choose();

    for (std::uint32_t i = 0; i < 40; ++i) {
        EXPECT_EQ(choices.doubt(i).kept, again.doubt(i).kept);
        EXPECT_NE(choices.doubt(i).kept, of_more.doubt(i).kept);
    }
}

/// Errors as rounding makes them: no choice that they change is certain by the bounds that follow from the others.
TEST_F(DecoderPiecesOnGpu, ChoicesThatErrorsChangeAreInDoubt) {
    constexpr std::uint32_t entries = 1000;
    constexpr std::uint32_t vocabulary = 300;
    constexpr std::uint32_t samples = 4;
    for (const TokenSampling& rule :
         {TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0}, TokenSampling{.max_prompt = 2, .max_new = 2},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 30, .seed = 4},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_p = 0.9F, .seed = 5},
          TokenSampling{.max_prompt = 2, .max_new = 2, .temperature = 0.9F, .top_k = 40, .top_p = 0.8F, .seed = 6}}) {
        SCOPED_TRACE(testing::Message() << "temperature " << rule.temperature << ", top_k " << rule.top_k);
        std::vector<SeenDoubts> seen;
        std::vector<TextDoubt> differing;
        for (std::uint32_t sample = 0; sample < samples; ++sample) {
            Choices exact(rule, entries, vocabulary, Ties::none, sample);
            Choices fast(rule, entries, vocabulary, Ties::none, sample);
            fast.add(random_values(fast.score_count(), 3e-3F, sample + 9));

            exact.choose();
            fast.choose();

            for (std::uint32_t i = 0; i < entries; ++i) {
                if (fast.token(i) != exact.token(i)) {
                    differing.push_back(fast.doubt(i).doubt);
                } else if (fast.doubt(i).kept == exact.doubt(i).kept) {
                    seen.push_back({.fast = fast.doubt(i).doubt, .exact = exact.doubt(i).doubt});
                }
            }
        }
        const TextDoubt bounds = calibrate_doubts(seen);
        const auto certain = [&](const TextDoubt& doubt) {
            return doubt.distance >= bounds.distance && doubt.gap >= bounds.gap;
        };
        EXPECT_GT(differing.size(), 0U);
        EXPECT_EQ(std::ranges::count_if(differing, certain), 0);
        const auto sure = std::ranges::count_if(seen, [&](const SeenDoubts& one) { return certain(one.fast); });
        EXPECT_GT(sure, entries * samples / 2);
    }
}

}  // namespace
}  // namespace sluice
