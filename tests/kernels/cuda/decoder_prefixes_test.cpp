#include <algorithm>
#include <span>
#include <vector>

#include "core/device/host_device.hpp"
#include "tests/kernels/cuda/decoder_drafts.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"

/// Prompts that begin alike: what they share is computed once, which changes no bit.
namespace sluice {
namespace {

using test::Continued;
using test::Continuer;
using test::DecoderKind;
using test::like_llama;
using test::llama_of_all;
using test::ModelCase;
using test::of_all;
using test::parts_of_llama;
using test::prompts_with_instructions;
using test::RandomDecoder;
using test::Tokens;
using test::with_prefix;

class DecoderPrefixesOnGpu : public test::DecoderOnGpu {};

void expect_same(const std::vector<Continued>& texts, std::span<const Continued> expected) {
    ASSERT_LE(texts.size(), expected.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(texts[i], expected[i]) << i;
        ASSERT_TRUE(texts[i].has_zeros_after_it) << i;
    }
}

std::vector<Tokens> first_of(const std::vector<Tokens>& prompts, std::size_t count) {
    return {prompts.begin(), prompts.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Alone no prompt shares anything.
TEST_F(DecoderPrefixesOnGpu, GivesATextTheSameBitsWhetherItSharesItsPrefixOrNot) {
    for (const ModelCase& one :
         {ModelCase{of_all}, ModelCase{llama_of_all, parts_of_llama},
          ModelCase{{.vocabulary = 300, .positions = 150, .width = 128, .layers = 3, .heads = 4, .inner = 64}},
          ModelCase{
              like_llama({.vocabulary = 300, .positions = 150, .width = 256, .layers = 2, .heads = 2, .inner = 64}, 1),
              parts_of_llama}}) {
        const std::uint32_t longest = one.shape.positions - 10;
        const std::vector<Tokens> prompts = prompts_with_instructions(700, longest, one.shape.vocabulary);
        const RandomDecoder model(one.shape, 7, one.parts);
        TokenSampling sampling = test::sampled;
        sampling.max_prompt = longest;
        for (const DecoderKind kind : kinds()) {
            SCOPED_TRACE(testing::Message() << kind << ", width " << one.shape.width << ", heads " << one.shape.heads);
            Continuer all = continuer(kind, model, sampling, 700);
            const std::vector<Continued> together = all(prompts);
            EXPECT_GT(all.counts().shared, all.counts().prompt_tokens / 3);
            EXPECT_LT(all.counts().shared, all.counts().prompt_tokens);

            expect_same(all(prompts), together);  // a chunk after another
            expect_same(continuer(kind, model, sampling, 90)(first_of(prompts, 360)), together);
            expect_same(continuer(kind, model, sampling, 90, 0)(first_of(prompts, 180)), together);
            Continuer alone = continuer(kind, model, sampling, 1);
            expect_same(alone(first_of(prompts, 60)), together);
            EXPECT_EQ(alone.counts().shared, 0U);
        }
    }
}

/// Some of them in the kernel for long prompts, where the GPU has it.
TEST_F(DecoderPrefixesOnGpu, GivesALongTextTheSameBits) {
    const DecoderShape shape{.vocabulary = 300, .positions = 700, .width = 128, .layers = 3, .heads = 2, .inner = 64};
    const RandomDecoder model(shape, 7);
    const std::vector<Tokens> prompts = prompts_with_instructions(150, 690, shape.vocabulary);
    const TokenSampling greedy{.max_prompt = 690, .max_new = 4, .temperature = 0, .log_probabilities = true};
    for (const DecoderKind kind : kinds()) {
        SCOPED_TRACE(testing::Message() << kind);
        Continuer all = continuer(kind, model, greedy, 150);
        const std::vector<Continued> together = all(prompts);
        EXPECT_GT(all.counts().shared, all.counts().prompt_tokens / 3);

        expect_same(continuer(kind, model, greedy, 40)(prompts), together);
        expect_same(continuer(kind, model, greedy, 1)(first_of(prompts, 60)), together);
    }
}

TEST_F(DecoderPrefixesOnGpu, ContinuesAsTheHostInFp32) {
    for (const DecoderShape& shape :
         {of_all,
          DecoderShape{.vocabulary = 53, .positions = 100, .width = 24, .layers = 2, .heads = 3, .inner = 70}}) {
        const std::uint32_t longest = shape.positions - 10;
        const std::vector<Tokens> prompts = prompts_with_instructions(200, longest, shape.vocabulary);
        const RandomDecoder model(shape, 7);
        TokenSampling sampling = test::sampled;
        sampling.max_prompt = longest;
        sampling.log_probabilities = false;
        HostDevice host;

        Continuer on_gpu = continuer(Precision::fp32, model, sampling, 200);
        const std::vector<Continued> texts = on_gpu(prompts);

        expect_same(texts, Continuer(decoder_kernels_of(DeviceKind::host), host, model, sampling, 200)(prompts));
        EXPECT_GT(on_gpu.counts().shared, 0U);
    }
}

/// Where a prompt attends to all of itself, or its other rows to keys that are not rounded.
TEST_F(DecoderPrefixesOnGpu, SharesNothingThatDependsOnWhatFollows) {
    const std::vector<Tokens> prompts = prompts_with_instructions(200, 60, of_all.vocabulary);
    TokenSampling sampling{.max_prompt = 60, .max_new = 5, .temperature = 0};
    Continuer attending = continuer(Precision::bf16, RandomDecoder(with_prefix(of_all), 7), sampling, 200);
    attending(prompts);
    EXPECT_EQ(attending.counts().shared, 0U);
    sampling.kv_cache = KvCache::int8;
    Continuer quantised = continuer(Precision::bf16, RandomDecoder(of_all, 7), sampling, 200);
    quantised(prompts);
    EXPECT_EQ(quantised.counts().shared, 0U);
}

}  // namespace
}  // namespace sluice
