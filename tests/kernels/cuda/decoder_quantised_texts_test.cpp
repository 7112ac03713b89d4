#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/kernels/cuda/decoder_on_gpu.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::DecoderOnGpu;
using test::log_of_softmax;
using test::ModelCase;
using test::models_of_all;
using test::plain_decoder_scores;
using test::random_prompts;
using test::RandomDecoder;
using test::Tokens;

/// With a cache in fp8, in bf16 or fp16.
constexpr double fp8_log_tolerance = 0.4;

TEST_F(DecoderOnGpu, GivesATextTheSameBitsWhateverItsNeighboursWithACacheInFp8) {
    TokenSampling sampling = test::sampled;
    sampling.kv_cache = KvCache::fp8;
    for (const ModelCase& one : models_of_all) {
        for (const Precision precision : {Precision::bf16, Precision::fp16}) {
            expect_no_neighbours(one, precision, sampling);
        }
    }
}

/// It may come to other tokens than with a cache as it is computed, but knows nearly as well how likely its own are.
TEST_F(DecoderOnGpu, ContinuesNearlyAsThePlainFormulasDoWithACacheInFp8) {
    const TokenSampling greedy{
        .max_prompt = 40, .max_new = 6, .temperature = 0, .log_probabilities = true, .kv_cache = KvCache::fp8};
    for (const ModelCase& one : models_of_all) {
        const RandomDecoder model(one.shape, 21, one.parts);
        const std::vector<Tokens> prompts = random_prompts(8, 40, one.shape.vocabulary, 4);
        std::map<Tokens, std::vector<double>> plain;
        for (const Precision precision : {Precision::bf16, Precision::fp16}) {
            const std::vector<Continued> continued = continuer(precision, model, greedy, 8)(prompts);

            double off = 0;
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                Tokens text = prompts[i];
                ASSERT_EQ(continued[i].tokens.size(), greedy.max_new);
                for (std::size_t t = 0; t < greedy.max_new; ++t) {
                    std::vector<double>& scores = plain[text];
                    if (scores.empty()) {
                        scores = plain_decoder_scores(one.shape, model.weights(), text);
                    }
                    const std::uint32_t token = continued[i].tokens[t];
                    ASSERT_LT(token, one.shape.vocabulary);
                    const double got = continued[i].log_probabilities[t];
                    off = std::max(off, std::abs(got - log_of_softmax(scores, token)));
                    text.push_back(token);
                }
            }
            EXPECT_LE(off, (one.shape.gated ? 3 : 1) * fp8_log_tolerance) << name_of(precision);
            TokenSampling plain_cache = greedy;
            plain_cache.kv_cache = KvCache::as_computed;
            const std::vector<Continued> as_computed = continuer(precision, model, plain_cache, 8)(prompts);
            EXPECT_NE(continued, as_computed) << "no cache of " << name_of(precision) << " in fp8";
        }
    }
}

}  // namespace
}  // namespace sluice
