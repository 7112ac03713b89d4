#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::Continuer;
using test::DecoderKind;
using test::DecoderOnGpu;
using test::like_llama;
using test::llama_of_all;
using test::log_of_softmax;
using test::log_tolerance;
using test::ModelCase;
using test::models_of_all;
using test::of_all;
using test::parts_of_llama;
using test::plain_decoder_scores;
using test::random_prompts;
using test::RandomDecoder;
using test::sampled;
using test::Tokens;
using test::with_prefix;

std::vector<Continued> continued_on_host(const RandomDecoder& model, const TokenSampling& sampling,
                                         const std::vector<Tokens>& prompts) {
    HostDevice host;
    return Continuer(decoder_kernels_of(DeviceKind::host), host, model, sampling,
                     static_cast<std::uint32_t>(prompts.size()))(prompts);
}

TEST_F(DecoderOnGpu, ContinuesAsTheHostInFp32) {
    for (const ModelCase& one : {
             ModelCase{{.vocabulary = 53, .positions = 40, .width = 24, .layers = 2, .heads = 3, .inner = 70}},
             ModelCase{{.vocabulary = 2, .positions = 18, .width = 16, .layers = 3, .heads = 16, .inner = 1}},
             ModelCase{{.vocabulary = 1000, .positions = 64, .width = 130, .layers = 4, .heads = 10, .inner = 300}},
             ModelCase{{.vocabulary = 300, .positions = 150, .width = 128, .layers = 3, .heads = 2, .inner = 1100}},
             ModelCase{{.vocabulary = 700, .positions = 300, .width = 768, .layers = 1, .heads = 12, .inner = 600}},
             ModelCase{llama_of_all, parts_of_llama},
             ModelCase{
                 with_prefix({.vocabulary = 300, .positions = 200, .width = 64, .layers = 2, .heads = 2, .inner = 80})},
             ModelCase{
                 with_prefix({.vocabulary = 300, .positions = 80, .width = 24, .layers = 2, .heads = 3, .inner = 80})},
             ModelCase{
                 like_llama({.vocabulary = 300, .positions = 150, .width = 96, .layers = 2, .heads = 8, .inner = 1100},
                            2),
                 {.order = MatrixOrder::by_outputs}},
             ModelCase{{.vocabulary = 300,
             .positions = 80,
             .width = 200,
             .layers = 2,
             .heads = 8,
             .inner = 77,
             .norm_epsilon = 1e-6F,
             .head_size = 64,
             .key_heads = 1,
             .normalisation = DecoderNormalisation::rms,
             .activation = DecoderActivation::gelu_erf,
             .rotary = RotaryPositions{.base = 500, .stretch = {.factor = 8, .original_positions = 40}}},
                       {.biases = false}},
             ModelCase{{.vocabulary = 90,
             .positions = 60,
             .width = 21,
             .layers = 2,
             .heads = 6,
             .inner = 50,
             .head_size = 11,
             .key_heads = 3,
             .activation = DecoderActivation::gelu_tanh,
             .gated = true},
                       {.own_head = true}},
         }) {
        const DecoderShape& shape = one.shape;
        const RandomDecoder model(shape, 11, one.parts);
        const std::uint32_t max_new = std::min(8U, shape.positions / 2);
        const std::uint32_t longest = shape.positions - max_new;
        const std::vector<Tokens> prompts = random_prompts(30, longest, shape.vocabulary, 2);
        for (TokenSampling sampling : {TokenSampling{.temperature = 0}, TokenSampling{.seed = 3}, sampled}) {
            sampling.max_prompt = longest;
            sampling.max_new = max_new;
            sampling.log_probabilities = true;

            const std::vector<Continued> continued = continuer(Precision::fp32, model, sampling, 30)(prompts);

            const std::vector<Continued> expected = continued_on_host(model, sampling, prompts);
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                SCOPED_TRACE(testing::Message()
                             << "width " << shape.width << ", temperature " << sampling.temperature << ", text " << i);
                ASSERT_EQ(continued[i].tokens, expected[i].tokens);
                ASSERT_EQ(continued[i].start.has_end, expected[i].start.has_end);
                for (std::size_t t = 0; t < expected[i].tokens.size(); ++t) {  // a sum in double, in another order
                    ASSERT_NEAR(continued[i].log_probabilities[t], expected[i].log_probabilities[t], 2e-7);
                }
            }
        }
    }
}

TEST_F(DecoderOnGpu, ContinuesAsThePlainFormulasDo) {
    for (const ModelCase& one :
         {ModelCase{of_all},
          ModelCase{{.vocabulary = 513, .positions = 150, .width = 64, .layers = 1, .heads = 2, .inner = 64}},
          ModelCase{{.vocabulary = 77, .positions = 40, .width = 192, .layers = 2, .heads = 3, .inner = 256}},
          ModelCase{{.vocabulary = 77, .positions = 500, .width = 128, .layers = 2, .heads = 2, .inner = 64}},
          ModelCase{llama_of_all, parts_of_llama}, ModelCase{with_prefix(llama_of_all), parts_of_llama},
          ModelCase{
              with_prefix({.vocabulary = 513, .positions = 200, .width = 64, .layers = 2, .heads = 2, .inner = 64})},
          ModelCase{
              like_llama({.vocabulary = 77, .positions = 40, .width = 256, .layers = 2, .heads = 2, .inner = 256}, 1),
              {.order = MatrixOrder::by_outputs}},
          ModelCase{{.vocabulary = 300,
          .positions = 80,
          .width = 192,
          .layers = 2,
          .heads = 8,
          .inner = 128,
          .norm_epsilon = 1e-6F,
          .head_size = 64,
          .key_heads = 4,
          .activation = DecoderActivation::gelu_erf,
          .rotary = RotaryPositions{.base = 500, .stretch = {.factor = 8, .original_positions = 40}}},
                    {.biases = false}}}) {
        const DecoderShape& shape = one.shape;
        const RandomDecoder model(shape, 21, one.parts);
        const std::uint32_t longest = shape.positions - 6;
        const std::vector<Tokens> prompts = random_prompts(12, longest, shape.vocabulary, 4);
        const TokenSampling greedy{.max_prompt = longest, .max_new = 6, .temperature = 0, .log_probabilities = true};
        // Most precisions come to the same texts, each of a prompt.
        std::map<std::pair<std::size_t, Tokens>, std::vector<double>> plain;
        for (const DecoderKind kind : kinds()) {
            const std::vector<Continued> continued = continuer(kind, model, greedy, 12)(prompts);

            const double most =
                log_tolerance(kind.precision) * (shape.gated ? 3 : 1);  // gates multiply what was rounded
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                Tokens text = prompts[i];
                ASSERT_EQ(continued[i].tokens.size(), 6U);
                EXPECT_EQ(continued[i].start.nonfinite, 0U);
                for (std::size_t t = 0; t < 6; ++t) {
                    std::vector<double>& scores = plain[{prompts[i].size(), text}];
                    if (scores.empty()) {
                        scores = plain_decoder_scores(shape, model.weights(), text, prompts[i].size());
                    }
                    const std::uint32_t token = continued[i].tokens[t];
                    ASSERT_LT(token, shape.vocabulary);
                    EXPECT_GE(scores[token], *std::ranges::max_element(scores) - 2 * most)
                        << kind << ", width " << shape.width << ", text " << i << ", token " << t;
                    EXPECT_NEAR(continued[i].log_probabilities[t], log_of_softmax(scores, token), most)
                        << kind << ", width " << shape.width << ", text " << i << ", token " << t;
                    text.push_back(token);
                }
            }
        }
    }
}

/// An activation that fp16 has no room for is not taken for another one.
TEST_F(DecoderOnGpu, FlagsTextsBeyondTheRangeOfTheirPrecision) {
    const std::vector<Tokens> prompts = random_prompts(5, 20, of_all.vocabulary, 4);
    for (const bool log_probabilities : {false, true}) {
        const TokenSampling greedy{
            .max_prompt = 20, .max_new = 3, .temperature = 0, .log_probabilities = log_probabilities};
        const auto nonfinite = [&](DecoderKind kind, float inner) {
            RandomDecoder model(of_all, 5);
            model.set_inner_bias(3, inner);
            std::uint32_t count = 0;
            for (const Continued& one : continuer(kind, model, greedy, 5)(prompts)) {
                count += one.start.nonfinite;
            }
            return count;
        };

        EXPECT_EQ(nonfinite(Precision::fp32, 7e4F), 0U);
        if (gpu().instructions() == MatrixInstructions::wgmma) {
            for (const Precision precision : {Precision::tf32x3, Precision::fp16x2}) {
                const DecoderKind in_parts(precision, MatrixInstructions::wgmma);
                EXPECT_EQ(nonfinite(in_parts, 6e4F), 0U) << in_parts;
                EXPECT_EQ(nonfinite(in_parts, 7e4F), prompts.size()) << in_parts;
            }
        }
    }
}

/// In fp32 rows are padded, and chains of long sums leave what they have in the inputs of other products.
TEST_F(DecoderOnGpu, KeepsTextsOutOfItsRangeFromTheOthers) {
    constexpr DecoderShape shape{
        .vocabulary = 300, .positions = 24, .width = 192, .layers = 2, .heads = 3, .inner = 3200};
    constexpr std::uint32_t far = shape.vocabulary - 1;
    RandomDecoder model(shape, 9, {.own_head = true});
    model.set_embedding(far, 3e38F);  // their sum is infinite, so that the row's mean and all that follows are NaN
    const TokenSampling greedy{.max_prompt = 20, .max_new = 4, .temperature = 0};
    const std::vector<Tokens> prompts = random_prompts(600, 20, far, 3);
    std::vector<Tokens> some_far = prompts;
    for (std::size_t i = 0; i < prompts.size(); i += 3) {
        some_far[i][0] = far;
    }
    for (const DecoderKind kind : kinds()) {
        const bool has_its_range = kind.precision == Precision::fp32 || kind.precision == Precision::tf32 ||
                                   kind.precision == Precision::bf16 || kind.precision == Precision::fp8;
        if (!has_its_range) {
            continue;  // refuses the weights
        }
        Continuer continued = continuer(kind, model, greedy, 600);
        const std::vector<Continued> alone = continued(prompts);

        const std::vector<Continued> beside = continued(some_far);

        std::size_t equal = 0;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            if (i % 3 == 0) {
                EXPECT_EQ(beside[i].start.nonfinite, 1U) << kind << ", text " << i;
            } else if (std::ranges::find(alone[i].tokens, far) == alone[i].tokens.end()) {
                ASSERT_EQ(beside[i], alone[i]) << kind << ", text " << i;
                ++equal;
            }
        }
        EXPECT_GT(equal, 300U);
        EXPECT_EQ(continued(prompts), alone) << kind << ": in the next chunk";
    }
}

TEST_F(DecoderOnGpu, GivesATextTheSameBitsWhateverItsNeighbours) {
    for (const ModelCase& one : models_of_all) {
        for (const DecoderKind kind : kinds()) {
            expect_no_neighbours(one, kind, sampled);
            TokenSampling by_temperature = sampled;  // alone: scores are not kept
            by_temperature.repetition_penalty = 1;
            by_temperature.top_k = 0;
            by_temperature.top_p = 1;
            expect_no_neighbours(one, kind, by_temperature);
        }
    }
}

/// Of prompts that are long, where the GPU has a kernel for them, and others.
TEST_F(DecoderOnGpu, GivesALongTextTheSameBitsWhateverItsNeighbours) {
    const DecoderShape shape{.vocabulary = 300, .positions = 700, .width = 128, .layers = 3, .heads = 2, .inner = 64};
    const RandomDecoder model(shape, 7);
    const std::vector<Tokens> prompts = random_prompts(60, 690, shape.vocabulary, 8);
    const TokenSampling greedy{.max_prompt = 690, .max_new = 4, .temperature = 0, .log_probabilities = true};
    for (const DecoderKind kind : kinds()) {
        const std::vector<Continued> together = continuer(kind, model, greedy, 60)(prompts);

        const std::vector<Continued> apart = continuer(kind, model, greedy, 1)(prompts);

        EXPECT_TRUE(std::ranges::equal(apart, together)) << kind;
    }
}

/// Texts of a large chunk that end one after another: its passes have products in larger tiles, then in smaller ones.
TEST_F(DecoderOnGpu, GivesATextTheSameBitsInPassesOfEverySize) {
    const DecoderShape shape{.vocabulary = 90, .positions = 60, .width = 128, .layers = 3, .heads = 2, .inner = 576};
    const RandomDecoder model(shape, 7);
    const std::vector<Tokens> prompts = random_prompts(2300, 12, shape.vocabulary, 8);
    const TokenSampling drawn{.max_prompt = 12,
                              .max_new = 45,
                              .end = EndTokens(std::array{1U, 20U, 21U, 35U, 50U, 51U, 70U, 89U}),
                              .seed = 3,
                              .log_probabilities = true};
    constexpr std::uint32_t few = 50;
    for (const DecoderKind kind : kinds()) {
        const std::vector<Continued> together = continuer(kind, model, drawn, 2300)(prompts);

        const std::vector<Continued> apart =
            continuer(kind, model, drawn, few)({prompts.begin(), prompts.begin() + 500});

        EXPECT_TRUE(std::ranges::equal(apart, std::span(together).first(apart.size()))) << kind;
        const auto longest = std::ranges::max(together, {}, [](const Continued& text) { return text.tokens.size(); });
        EXPECT_GT(longest.tokens.size(), 30U) << kind;
    }
}

TEST_F(DecoderOnGpu, CountsAsTheHost) {
    const RandomDecoder model(of_all, 9);
    const std::vector<Tokens> prompts = random_prompts(500, 60, of_all.vocabulary, 10);
    HostDevice host_device;
    Continuer host(decoder_kernels_of(DeviceKind::host), host_device, model, sampled, 500);
    host(prompts);

    Continuer on_gpu = continuer(Precision::fp32, model, sampled, 500);
    EXPECT_TRUE(on_gpu({}).empty());
    on_gpu(prompts);

    EXPECT_EQ(on_gpu.counts().texts, 500U);
    EXPECT_EQ(on_gpu.counts().prompt_tokens, host.counts().prompt_tokens);
    EXPECT_EQ(on_gpu.counts().new_tokens, host.counts().new_tokens);
    EXPECT_EQ(on_gpu.counts().ended, host.counts().ended);
    EXPECT_GE(on_gpu.counts().ended, 1U);
}

TEST_F(DecoderOnGpu, SaysWhatItHasNoKernelsFor) {
    const auto id_of = [&](const DecoderShape& shape, Precision precision, std::uint32_t max_prompt = 4) {
        try {
            const RandomDecoder model(shape, 2);
            const Continuer never(decoder_kernels_of(DeviceKind::cuda, precision), device(), model,
                                  {.max_prompt = max_prompt, .max_new = 4}, 10);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::unavailable);
            return std::string(error.text().id);
        }
        return std::string();
    };
    DecoderShape odd = of_all;
    odd.heads = 8;

    EXPECT_EQ(id_of(odd, Precision::bf16), "E-GPU-067");
    odd.heads = 4;
    odd.positions = 40'000;
    EXPECT_EQ(id_of(odd, Precision::fp32, 30'000), "E-GPU-068");
    EXPECT_EQ(id_of(odd, Precision::bf16, 30'000), "");
    odd = of_all;
    odd.heads = 8;
    EXPECT_EQ(id_of(of_all, Precision::bf16), "");
    EXPECT_EQ(id_of(of_all, Precision::fp8), "E-GPU-063");
    EXPECT_EQ(id_of(of_all, Precision::tf32x3), "E-GPU-063");
    EXPECT_EQ(id_of(of_all, Precision::fp16x2), "E-GPU-063");
    EXPECT_EQ(id_of(odd, Precision::fp32), "");
}

}  // namespace
}  // namespace sluice
