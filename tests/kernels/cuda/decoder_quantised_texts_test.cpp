#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/decoder_cache_codes.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::DecoderOnGpu;
using test::log_of_softmax;
using test::ModelCase;
using test::models_of_all;
using test::narrow_precisions;
using test::plain_decoder_scores;
using test::quantised_kinds;
using test::random_prompts;
using test::RandomDecoder;
using test::Tokens;

/// What rounding may do to a log-probability, and a few times as much to be sure.
double log_tolerance(KvCache kind, Precision precision) {
    return kind == KvCache::fp8 ? 0.4 : precision == Precision::bf16 ? 0.25 : 0.1;
}

TEST_F(DecoderOnGpu, GivesATextTheSameBitsWhateverItsNeighboursWithAQuantisedCache) {
    for (const KvCache kind : quantised_kinds) {
        SCOPED_TRACE(name_of(kind));
        TokenSampling sampling = test::sampled;
        sampling.kv_cache = kind;
        for (const ModelCase& one : models_of_all) {
            for (const Precision precision : narrow_precisions) {
                expect_no_neighbours(one, precision, sampling);
            }
        }
    }
}

/// It may come to other tokens than with a cache as it is computed, but knows nearly as well how likely its own are.
TEST_F(DecoderOnGpu, ContinuesNearlyAsThePlainFormulasDoWithAQuantisedCache) {
    TokenSampling greedy{.max_prompt = 40, .max_new = 6, .temperature = 0, .log_probabilities = true};
    for (const ModelCase& one : models_of_all) {
        const RandomDecoder model(one.shape, 21, one.parts);
        const std::vector<Tokens> prompts = random_prompts(8, 40, one.shape.vocabulary, 4);
        std::map<std::pair<std::size_t, Tokens>, std::vector<double>> plain;
        const auto furthest = [&](const std::vector<Continued>& continued) {
            double off = 0;
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                Tokens text = prompts[i];
                EXPECT_EQ(continued[i].tokens.size(), greedy.max_new);
                for (std::size_t t = 0; t < continued[i].tokens.size(); ++t) {
                    const std::uint32_t token = continued[i].tokens[t];
                    if (token >= one.shape.vocabulary) {
                        return std::numeric_limits<double>::infinity();
                    }
                    std::vector<double>& scores = plain[{prompts[i].size(), text}];
                    if (scores.empty()) {
                        scores = plain_decoder_scores(one.shape, model.weights(), text, prompts[i].size());
                    }
                    const double got = continued[i].log_probabilities[t];
                    off = std::max(off, std::abs(got - log_of_softmax(scores, token)));
                    text.push_back(token);
                }
            }
            return off;
        };
        for (const Precision precision : narrow_precisions) {
            std::vector<std::vector<Continued>> others;
            for (const KvCache kind : {KvCache::as_computed, KvCache::fp8, KvCache::int8}) {
                SCOPED_TRACE(testing::Message() << name_of(kind) << ", " << name_of(precision));
                greedy.kv_cache = kind;
                const std::vector<Continued> continued = continuer(precision, model, greedy, 8)(prompts);
                if (kind != KvCache::as_computed) {
                    EXPECT_LE(furthest(continued), (one.shape.gated ? 3 : 1) * log_tolerance(kind, precision));
                }
                EXPECT_EQ(std::ranges::count(others, continued), 0) << "as with another cache";
                others.push_back(continued);
            }
        }
    }
}

}  // namespace
}  // namespace sluice
