#include "kernels/decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/kernels.hpp"
#include "tests/support/decoder_reference.hpp"

namespace sluice {
namespace {

using test::plain_decoder_scores;
using test::RandomDecoder;
using Tokens = std::vector<std::uint32_t>;

struct Continued {
    Tokens tokens{};
    std::vector<float> log_probabilities{};
    ContinuationStart start{};

    bool operator==(const Continued& other) const {
        return tokens == other.tokens && log_probabilities == other.log_probabilities &&
               start.has_end == other.start.has_end;
    }
};

class Continuer {
public:
    Continuer(const RandomDecoder& model, const TokenSampling& sampling, std::uint32_t max_items,
              std::uint64_t more_bytes = UINT64_MAX / 2)
        : sampling_(sampling), io_(decoder_io(sampling)), max_items_(max_items) {
        layer_ = decoder_kernels_of(DeviceKind::host).decoder(model.shape(), model.weights(), sampling, packed_);
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 2);
        decoder_ = layer_->make_decoder(device_, max_items, layer_->least_bytes(max_items) + more_bytes);
        stream_ = device_.make_stream({});
    }

    /// Item i has number first + i.
    std::vector<Continued> operator()(const std::vector<Tokens>& prompts, std::uint64_t first = 0) {
        std::vector<Continued> all;
        for (std::size_t begin = 0; begin < prompts.size(); begin += max_items_) {
            const std::size_t count = std::min<std::size_t>(max_items_, prompts.size() - begin);
            std::vector<std::byte> in(count * io_.input_bytes);
            std::vector<std::byte> out(count * io_.output_bytes, std::byte{0xEE});
            for (std::size_t i = 0; i < count; ++i) {
                const Tokens& prompt = prompts[begin + i];
                const PromptStart start{.number = first + begin + i,
                                        .tokens = static_cast<std::uint32_t>(prompt.size())};
                std::memcpy(&in[i * io_.input_bytes], &start, sizeof start);
                std::memcpy(&in[i * io_.input_bytes + sizeof start], prompt.data(),
                            prompt.size() * sizeof(std::uint32_t));
            }
            decoder_->enqueue(*stream_, {.items = count}, std::span<const std::byte>(in), std::span(out));
            stream_->record().wait();
            for (std::size_t i = 0; i < count; ++i) {
                all.push_back(read(&out[i * io_.output_bytes]));
            }
        }
        return all;
    }

    [[nodiscard]] DecoderCounts counts() const { return decoder_->counts(); }

private:
    Continued read(const std::byte* result) const {
        Continued continued;
        std::memcpy(&continued.start, result, sizeof continued.start);
        continued.tokens.resize(continued.start.tokens);
        const std::byte* const tokens = result + sizeof continued.start;
        std::copy_n(tokens, continued.tokens.size() * sizeof(std::uint32_t),
                    std::as_writable_bytes(std::span(continued.tokens)).begin());
        if (sampling_.log_probabilities) {
            continued.log_probabilities.resize(continued.start.tokens);
            std::copy_n(tokens + sampling_.max_new * sizeof(std::uint32_t), continued.tokens.size() * sizeof(float),
                        std::as_writable_bytes(std::span(continued.log_probabilities)).begin());
        }
        return continued;
    }

    TokenSampling sampling_;
    IoShape io_;
    std::uint32_t max_items_;
    HostDevice device_;
    PackedWeights packed_;
    std::unique_ptr<DecoderLayer> layer_;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<Stream> stream_;
};

constexpr DecoderShape small{.vocabulary = 53, .positions = 40, .width = 24, .layers = 2, .heads = 3, .inner = 70};

std::vector<Tokens> random_prompts(std::size_t count, std::uint32_t longest, std::uint32_t vocabulary,
                                   std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<Tokens> prompts(count);
    for (Tokens& prompt : prompts) {
        prompt.resize(1 + engine() % longest);
        std::ranges::generate(prompt, [&] { return static_cast<std::uint32_t>(engine() % vocabulary); });
    }
    return prompts;
}

double log_softmax(const std::vector<double>& scores, std::uint32_t token) {
    double sum = 0;
    for (const double score : scores) {
        sum += std::exp(score - scores[token]);
    }
    return -std::log(sum);
}

class DecoderOfShape : public testing::TestWithParam<DecoderShape> {};

TEST_P(DecoderOfShape, ContinuesAsThePlainFormulasDo) {
    const DecoderShape& shape = GetParam();
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    const RandomDecoder model(shape, seed);
    const std::uint32_t max_new = std::min(6U, shape.positions / 2);
    const std::uint32_t longest = shape.positions - max_new;
    const std::vector<Tokens> prompts = random_prompts(12, longest, shape.vocabulary, seed + 1);
    Continuer greedy(model, {.max_prompt = longest, .max_new = max_new, .temperature = 0, .log_probabilities = true},
                     12);

    const std::vector<Continued> continued = greedy(prompts);

    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Tokens text = prompts[i];
        ASSERT_EQ(continued[i].tokens.size(), max_new);
        for (std::size_t t = 0; t < max_new; ++t) {
            const std::vector<double> scores = plain_decoder_scores(shape, model.weights(), text);
            const std::uint32_t token = continued[i].tokens[t];
            ASSERT_GE(scores[token], *std::ranges::max_element(scores) - 1e-3);
            const double right = log_softmax(scores, token);
            error += std::pow(static_cast<double>(continued[i].log_probabilities[t]) - right, 2);
            norm += right * right;
            text.push_back(token);
        }
    }
    EXPECT_LE(std::sqrt(error / norm), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DecoderOfShape,
    testing::Values(small,
                    DecoderShape{
                        .vocabulary = 257, .positions = 33, .width = 64, .layers = 1, .heads = 1, .inner = 256},
                    DecoderShape{.vocabulary = 2, .positions = 18, .width = 16, .layers = 3, .heads = 16, .inner = 1},
                    DecoderShape{.vocabulary = 1000,
                                 .positions = 64,
                                 .width = 130,
                                 .layers = 4,
                                 .heads = 10,
                                 .inner = 300,
                                 .norm_epsilon = 1e-3F}));

TEST(DecoderTexts, DoNotDependOnTheirNeighbours) {
    const RandomDecoder model(small, 7);
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
    const std::vector<Continued> together = Continuer(model, sampling, 230)(prompts);
    const std::vector<Continued> alone = Continuer(model, sampling, 1)(prompts);
    const std::vector<Continued> in_sevens = Continuer(model, sampling, 7)(prompts);
    const std::vector<Continued> with_least_cache = Continuer(model, sampling, 230, 0)(prompts);

    EXPECT_EQ(together, alone);
    EXPECT_EQ(together, in_sevens);
    EXPECT_EQ(together, with_least_cache);
}

TEST(DecoderTexts, EndAtTheEndToken) {
    const RandomDecoder model(small, 9);
    const std::vector<Tokens> prompts = random_prompts(40, 20, small.vocabulary, 10);
    const TokenSampling greedy{.max_prompt = 20, .max_new = 20, .temperature = 0};
    const std::vector<Continued> endless = Continuer(model, greedy, 40)(prompts);
    TokenSampling ending = greedy;
    ending.end = endless[0].tokens[5];
    Continuer continuer(model, ending, 40);

    const std::vector<Continued> ended = continuer(prompts);

    std::uint64_t tokens = 0;
    std::uint64_t ends = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const auto end = std::ranges::find(endless[i].tokens, *ending.end);
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
        tokens.erase(std::ranges::unique(tokens).begin(), tokens.end());
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

TEST(DecoderTexts, NoneAreNone) {
    const RandomDecoder model(small, 1);
    EXPECT_TRUE(Continuer(model, {.max_prompt = 5, .max_new = 5}, 3)({}).empty());
}

}  // namespace
}  // namespace sluice
