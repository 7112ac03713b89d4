#include "kernels/decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/kernels.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/decoder_texts.hpp"
#include "tests/kernels/layer_runner.hpp"
#include "tests/support/decoder_reference.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::like_llama;
using test::parts_of_llama;
using test::plain_decoder_scores;
using test::random_prompts;
using test::RandomDecoder;
using test::Tokens;

/// On the host.
class Continuer {
public:
    Continuer(const RandomDecoder& model, const TokenSampling& sampling, std::uint32_t most_items,
              std::uint64_t more_bytes = UINT64_MAX / 2, Precision precision = Precision::fp32)
        : continuer_(decoder_kernels_of(DeviceKind::host, precision), device_, model, sampling, most_items,
                     more_bytes) {}

    std::vector<Continued> operator()(const std::vector<Tokens>& prompts) { return continuer_(prompts); }
    [[nodiscard]] TextCounts counts() const { return continuer_.counts(); }
    [[nodiscard]] std::uint64_t moves() const { return continuer_.moves(); }

private:
    HostDevice device_;
    test::Continuer continuer_;
};

constexpr DecoderShape small{.vocabulary = 53, .positions = 40, .width = 24, .layers = 2, .heads = 3, .inner = 70};

const DecoderShape like_llama_small =
    like_llama({.vocabulary = 53, .positions = 40, .width = 32, .layers = 2, .heads = 4, .inner = 70}, 2);

// Of rounding to 8 bits before each product, in models of random weights.
constexpr double bf16_gap = 1;
constexpr double bf16_error = 0.15;

double log_softmax(const std::vector<double>& scores, std::uint32_t token) {
    double sum = 0;
    for (const double score : scores) {
        sum += std::exp(score - scores[token]);
    }
    return -std::log(sum);
}

struct DecoderCase {
    DecoderShape shape;
    test::DecoderParts parts{};
};

class DecoderOfShape : public testing::TestWithParam<DecoderCase> {};

TEST_P(DecoderOfShape, ContinuesAsThePlainFormulasDo) {
    const DecoderShape& shape = GetParam().shape;
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    const RandomDecoder model(shape, seed, GetParam().parts);
    const std::uint32_t max_new = std::min(6U, shape.positions / 2);
    const std::uint32_t longest = shape.positions - max_new;
    const std::vector<Tokens> prompts = random_prompts(12, longest, shape.vocabulary, seed + 1);
    const TokenSampling greedy{.max_prompt = longest, .max_new = max_new, .temperature = 0, .log_probabilities = true};
    for (const Precision precision : test::host_precisions()) {
        const bool is_exact = precision == Precision::fp32;
        SCOPED_TRACE(name_of(precision));

        const std::vector<Continued> continued = Continuer(model, greedy, 12, UINT64_MAX / 2, precision)(prompts);

        double error = 0;
        double norm = 0;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            Tokens text = prompts[i];
            ASSERT_EQ(continued[i].tokens.size(), max_new);
            for (std::size_t t = 0; t < max_new; ++t) {
                const std::vector<double> scores =
                    plain_decoder_scores(shape, model.weights(), text, prompts[i].size());
                const std::uint32_t token = continued[i].tokens[t];
                ASSERT_GE(scores[token], *std::ranges::max_element(scores) - (is_exact ? 1e-3 : bf16_gap));
                const double right = log_softmax(scores, token);
                error += std::pow(static_cast<double>(continued[i].log_probabilities[t]) - right, 2);
                norm += right * right;
                text.push_back(token);
            }
        }
        EXPECT_LE(std::sqrt(error / norm), is_exact ? 2e-5 : bf16_error);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DecoderOfShape,
    testing::Values(DecoderCase{small},
                    DecoderCase{
                        {.vocabulary = 257, .positions = 33, .width = 64, .layers = 1, .heads = 1, .inner = 256}},
                    DecoderCase{{.vocabulary = 2, .positions = 18, .width = 16, .layers = 3, .heads = 16, .inner = 1}},
                    DecoderCase{{.vocabulary = 1000,
                                 .positions = 64,
                                 .width = 130,
                                 .layers = 4,
                                 .heads = 10,
                                 .inner = 300,
                                 .norm_epsilon = 1e-3F}}));

/// Llama; Llama 3.1 with tied embeddings, as small ones have; Qwen 2, with biases; GPT-2 with rotary positions; then
/// some that nobody has.
INSTANTIATE_TEST_SUITE_P(
    OtherFamilies, DecoderOfShape,
    testing::Values(
        DecoderCase{
            like_llama({.vocabulary = 300, .positions = 70, .width = 64, .layers = 3, .heads = 8, .inner = 172}, 2),
            parts_of_llama},
        DecoderCase{{.vocabulary = 300,
                     .positions = 60,
                     .width = 96,
                     .layers = 2,
                     .heads = 4,
                     .inner = 100,
                     .norm_epsilon = 1e-6F,
                     .head_size = 32,
                     .key_heads = 1,
                     .normalisation = DecoderNormalisation::rms,
                     .activation = DecoderActivation::silu,
                     .gated = true,
                     .rotary = RotaryPositions{.base = 500, .stretch = {.factor = 8, .original_positions = 40}}},
                    {.biases = false, .order = MatrixOrder::by_outputs}},
        DecoderCase{
            like_llama({.vocabulary = 99, .positions = 40, .width = 48, .layers = 2, .heads = 4, .inner = 64}, 2),
            {.order = MatrixOrder::by_outputs}},
        DecoderCase{{.vocabulary = 70,
                     .positions = 40,
                     .width = 24,
                     .layers = 2,
                     .heads = 3,
                     .inner = 50,
                     .head_size = 6,
                     .rotary = RotaryPositions{.base = 100}}},
        DecoderCase{{.vocabulary = 70,
                     .positions = 40,
                     .width = 21,
                     .layers = 2,
                     .heads = 6,
                     .inner = 33,
                     .head_size = 11,
                     .key_heads = 3,
                     .normalisation = DecoderNormalisation::rms,
                     .activation = DecoderActivation::gelu_erf},
                    {.own_head = true}},
        DecoderCase{{.vocabulary = 70,
                     .positions = 40,
                     .width = 20,
                     .layers = 2,
                     .heads = 2,
                     .inner = 7,
                     .activation = DecoderActivation::gelu_erf,
                     .gated = true},
                    {.biases = false}}));

/// Longer prompts than the host otherwise takes in a pass.
INSTANTIATE_TEST_SUITE_P(
    PrefixModels, DecoderOfShape,
    testing::Values(DecoderCase{test::with_prefix(small)},
                    DecoderCase{test::with_prefix(
                        {.vocabulary = 53, .positions = 300, .width = 16, .layers = 2, .heads = 2, .inner = 20})},
                    DecoderCase{test::with_prefix(like_llama_small), parts_of_llama}));

TEST(DecoderTexts, OfPrefixModelsAreOthers) {
    const RandomDecoder causal(small, 31);
    const RandomDecoder prefix(test::with_prefix(small), 31);
    const std::vector<Tokens> prompts = random_prompts(30, 20, small.vocabulary, 32);
    const TokenSampling greedy{.max_prompt = 20, .max_new = 8, .temperature = 0};

    const std::vector<Continued> of_causal = Continuer(causal, greedy, 30)(prompts);
    const std::vector<Continued> of_prefix = Continuer(prefix, greedy, 30)(prompts);

    std::size_t others = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        others += of_causal[i].tokens != of_prefix[i].tokens ? 1U : 0U;
        if (prompts[i].size() == 1) {
            EXPECT_EQ(of_causal[i], of_prefix[i]) << i;  // the first token sees itself only
        }
    }
    EXPECT_GT(others, prompts.size() / 2);
}

class DecoderNeighbours : public testing::TestWithParam<DecoderCase> {};

TEST_P(DecoderNeighbours, DoNotChangeAText) {
    const RandomDecoder model(GetParam().shape, 7, GetParam().parts);
    const TokenSampling sampling{.max_prompt = 30,
                                 .max_new = 10,
                                 .repetition_penalty = 1.3F,
                                 .temperature = 0.8F,
                                 .top_k = 20,
                                 .top_p = 0.9F,
                                 .end = 3,
                                 .seed = 5,
                                 .log_probabilities = true};
    const std::vector<Tokens> prompts = random_prompts(230, 30, small.vocabulary, 8);
    for (const Precision precision : test::host_precisions()) {
        SCOPED_TRACE(name_of(precision));
        const auto continue_in = [&](std::uint32_t most_items, std::uint64_t more_bytes) {
            return Continuer(model, sampling, most_items, more_bytes, precision)(prompts);
        };
        const std::vector<Continued> together = continue_in(230, UINT64_MAX / 2);

        EXPECT_EQ(together, continue_in(1, UINT64_MAX / 2));
        EXPECT_EQ(together, continue_in(7, UINT64_MAX / 2));
        EXPECT_EQ(together, continue_in(230, 0));
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DecoderNeighbours,
                         testing::Values(DecoderCase{small}, DecoderCase{like_llama_small, parts_of_llama},
                                         DecoderCase{test::with_prefix(small)}));

TEST(EndTokens, AreThoseGiven) {
    std::array<std::uint32_t, EndTokens::most> all{};
    std::iota(all.begin(), all.end(), 5);
    for (std::size_t count = 0; count <= all.size(); ++count) {
        const std::span<const std::uint32_t> some = std::span(all).first(count);
        const EndTokens end(some);
        EXPECT_TRUE(std::ranges::equal(end.tokens(), some));
        for (std::uint32_t token = 0; token < 20; ++token) {
            EXPECT_EQ(end.contains(token), token >= 5 && token < 5 + count) << token << " of " << count;
        }
        EXPECT_EQ(end == EndTokens(5), count == 1);
        EXPECT_EQ(end == EndTokens(), count == 0);
    }
}

TEST(DecoderTexts, EndAtAnEndToken) {
    const RandomDecoder model(small, 9);
    const std::vector<Tokens> prompts = random_prompts(40, 20, small.vocabulary, 10);
    const TokenSampling greedy{.max_prompt = 20, .max_new = 20, .temperature = 0};
    const std::vector<Continued> endless = Continuer(model, greedy, 40)(prompts);
    TokenSampling ending = greedy;
    const std::array ends_of_texts{endless[0].tokens[5], endless[1].tokens[3]};
    ending.end = EndTokens(ends_of_texts);
    Continuer continuer(model, ending, 40);

    const std::vector<Continued> ended = continuer(prompts);

    std::uint64_t tokens = 0;
    std::uint64_t ends = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const auto end = std::ranges::find_first_of(endless[i].tokens, ends_of_texts);
        EXPECT_EQ(ended[i].tokens, Tokens(endless[i].tokens.begin(), end));
        EXPECT_EQ(ended[i].start.has_end, end == endless[i].tokens.end() ? 0U : 1U);
        EXPECT_EQ(ended[i].start.prompt, prompts[i].size());
        tokens += ended[i].tokens.size();
        ends += ended[i].start.has_end;
    }
    EXPECT_EQ(continuer.counts().texts, 40U);
    EXPECT_EQ(continuer.counts().new_tokens, tokens);
    EXPECT_EQ(continuer.counts().ended, ends);
    EXPECT_GE(ends, 1U);
}

/// A text of one token that is followed by one more, many times over.
TEST(DecoderTexts, AreDrawnByTheirProbabilities) {
    constexpr std::size_t texts = 20'000;
    const RandomDecoder model({.vocabulary = 11, .positions = 4, .width = 8, .layers = 1, .heads = 2, .inner = 16}, 3);
    const std::vector<Tokens> prompts(texts, Tokens{4});
    std::vector<double> scores = plain_decoder_scores(model.shape(), model.weights(), prompts[0]);
    for (double& score : scores) {
        score /= 0.7;
    }

    const std::vector<Continued> continued =
        Continuer(model, {.max_prompt = 1, .max_new = 1, .temperature = 0.7F, .seed = 77}, 1000)(prompts);

    std::vector<double> seen(11);
    for (const Continued& each : continued) {
        seen[each.tokens[0]] += 1;
    }
    double chi_square = 0;
    for (std::uint32_t token = 0; token < 11; ++token) {
        const double expected = texts * std::exp(log_softmax(scores, token));
        chi_square += (seen[token] - expected) * (seen[token] - expected) / expected;
    }
    EXPECT_LT(chi_square, 29.6);  // of 10 degrees of freedom, one in a thousand is more
}

/// Of the item and of the token's place among the new ones, wherever the item's prompt ends.
TEST(DecoderTexts, AreDrawnByTheNumbersOfTheirItem) {
    const RandomDecoder model(small, 13);
    const std::vector<Tokens> prompts = random_prompts(30, 20, small.vocabulary, 14);
    constexpr std::uint64_t seed = 99;

    const std::vector<Continued> continued =
        Continuer(model, {.max_prompt = 20, .max_new = 5, .seed = seed}, 30)(prompts);

    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Tokens text = prompts[i];
        for (std::uint32_t t = 0; t < 5; ++t) {
            const std::vector<double> scores = plain_decoder_scores(small, model.weights(), text);
            const std::uint32_t token = continued[i].tokens.at(t);
            double before = 0;
            for (std::uint32_t other = 0; other < token; ++other) {
                before += std::exp(log_softmax(scores, other));
            }
            const auto uniform =
                static_cast<double>(uniform_below_one(random_words(seed, {.item = i, .number = t}).words[0]));
            EXPECT_GT(uniform, before - 1e-4) << i;
            EXPECT_LT(uniform, before + std::exp(log_softmax(scores, token)) + 1e-4) << i;
            text.push_back(token);
        }
    }
}

TEST(DecoderTexts, LeaveZerosAfterTheirLastToken) {
    const RandomDecoder model(small, 9);
    HostDevice device;
    const TokenSampling sampling{.max_prompt = 4, .max_new = 30, .end = 7};
    test::Continuer continuer(decoder_kernels_of(DeviceKind::host), device, model, sampling, 40);

    const std::vector<Continued> continued = continuer(random_prompts(40, 4, small.vocabulary, 10));

    EXPECT_TRUE(std::ranges::any_of(continued, [](const Continued& text) { return text.start.has_end != 0; }));
    EXPECT_TRUE(std::ranges::all_of(continued, &Continued::has_zeros_after_it));
}

TEST(DecoderTexts, KeepToTheLikeliest) {
    const RandomDecoder model({.vocabulary = 11, .positions = 4, .width = 8, .layers = 1, .heads = 2, .inner = 16}, 3);
    const std::vector<Tokens> prompts(2000, Tokens{4});
    const std::vector<double> scores = plain_decoder_scores(model.shape(), model.weights(), prompts[0]);
    Tokens order(11);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
    const auto drawn = [&](TokenSampling sampling) {
        Tokens tokens;
        for (const Continued& each : Continuer(model, sampling, 2000)(prompts)) {
            tokens.push_back(each.tokens[0]);
        }
        std::ranges::sort(tokens);
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        return tokens;
    };
    const auto likeliest = [&](std::size_t count) {
        Tokens tokens(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
        std::ranges::sort(tokens);
        return tokens;
    };
    const double first_three = std::exp(log_softmax(scores, order[0])) + std::exp(log_softmax(scores, order[1])) +
                               std::exp(log_softmax(scores, order[2]));

    EXPECT_EQ(drawn({.max_prompt = 1, .max_new = 1, .top_k = 3}), likeliest(3));
    EXPECT_EQ(drawn({.max_prompt = 1, .max_new = 1, .top_p = static_cast<float>(first_three) - 1e-3F}), likeliest(3));
    EXPECT_EQ(drawn({.max_prompt = 1, .max_new = 1, .top_p = static_cast<float>(first_three) + 1e-3F}), likeliest(4));
    EXPECT_EQ(drawn({.max_prompt = 1, .max_new = 1, .top_k = 1}), likeliest(1));
}

TEST(DecoderTexts, AreNotRepeatedAgainstTheirPenalty) {
    const RandomDecoder model(small, 21);
    const std::vector<Tokens> prompts = random_prompts(20, 8, small.vocabulary, 22);

    const std::vector<Continued> continued =
        Continuer(model, {.max_prompt = 8, .max_new = 12, .repetition_penalty = 1e6F, .temperature = 0}, 20)(prompts);

    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Tokens text = prompts[i];
        for (const std::uint32_t token : continued[i].tokens) {
            const std::vector<double> scores = plain_decoder_scores(small, model.weights(), text);
            EXPECT_TRUE(std::ranges::find(text, token) == text.end() || scores[token] <= 0) << i;
            text.push_back(token);
        }
    }
}

/// A chunk of long texts may take longer than fault.hang_timeout.
TEST(DecoderTexts, ShowWithEachTokenThatTheyGetOn) {
    const RandomDecoder model(small, 3);
    Continuer continuer(model, {.max_prompt = 5, .max_new = 30, .temperature = 0}, 1);
    const std::uint64_t before = continuer.moves();

    EXPECT_EQ(continuer({{1, 2}}).at(0).tokens.size(), 30U);

    EXPECT_GE(continuer.moves() - before, 30U);
}

/// Longer than the host otherwise takes in a pass, which is then as long as the longest prompt.
TEST(DecoderTexts, OfPrefixModelsFollowTheLongestPromptThatThereMayBe) {
    const RandomDecoder model(
        test::with_prefix({.vocabulary = 53, .positions = 300, .width = 16, .layers = 2, .heads = 2, .inner = 20}), 5);
    Continuer continuer(model, {.max_prompt = 250, .max_new = 2, .temperature = 0}, 3);

    const std::vector<Continued> continued = continuer({Tokens(250, 1), Tokens(250, 2), Tokens(3, 4)});

    for (const Continued& text : continued) {
        EXPECT_EQ(text.tokens.size(), 2U);
    }
}

TEST(DecoderLayer, UsesNoMoreMemoryThanThereIs) {
    const RandomDecoder model(small, 2);
    HostDevice device;
    PackedWeights packed;
    const auto layer = decoder_kernels_of(DeviceKind::host)
                           .decoder(model.shape(), model.weights(), {.max_prompt = 20, .max_new = 20}, packed);

    for (const std::uint32_t items : {1U, 7U, 500U}) {
        const std::uint64_t least = layer->least_bytes(items);
        EXPECT_EQ(layer->bytes(device, items, least), least);
        for (const std::uint64_t more : {1U, 10'000U, 100'000U, 1'000'000U}) {
            EXPECT_GE(layer->bytes(device, items, least + more), least);
            EXPECT_LE(layer->bytes(device, items, least + more), least + more);
        }
    }
    EXPECT_GT(layer->bytes(device, 500, layer->least_bytes(500) + 1'000'000), layer->least_bytes(500));
}

/// Keys and values of a text's last token are never read.
TEST(DecoderLayer, KeepsAllTokensButTheLast) {
    const RandomDecoder model(small, 2);
    const auto least = [&](std::uint32_t max_prompt, std::uint32_t max_new) {
        PackedWeights packed;
        return decoder_kernels_of(DeviceKind::host)
            .decoder(model.shape(), model.weights(), {.max_prompt = max_prompt, .max_new = max_new}, packed)
            ->least_bytes(1);
    };

    EXPECT_EQ(least(16, 1), least(1, 1));
    EXPECT_EQ(least(8, 9), least(1, 1));
    EXPECT_GT(least(16, 2), least(16, 1));
}

TEST(DecoderTexts, NoneAreNone) {
    const RandomDecoder model(small, 1);
    EXPECT_TRUE(Continuer(model, {.max_prompt = 5, .max_new = 5}, 3)({}).empty());
}

}  // namespace
}  // namespace sluice
