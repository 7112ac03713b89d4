#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

/// Log-probabilities of tokens that are chosen without scores in memory.
namespace sluice {
namespace {

using decoder::ScoreSum;
using test::bytes_in;
using test::Continued;
using test::DecoderKind;
using test::DecoderOnGpu;
using test::DecoderPiecesOnGpu;
using test::ModelCase;
using test::RandomDecoder;
using test::Tokens;

/// What a head's product leaves.
struct LeftOfRows {
    bool bests = false;
    bool sums = true;
    bool plain = false;
    float temperature = 1;
};

/// A product of random operands, and memory for what it leaves; bytes of all ones where it writes nothing.
class HeadProduct {
public:
    static constexpr std::uint32_t rows = 300;
    static constexpr std::uint32_t active = 261;

    HeadProduct(Precision precision, std::uint32_t columns)
        : precision_(precision),
          columns_(columns),
          a_(std::span<const std::byte>(
              test::encode_rows(precision, random_values(std::size_t{rows} * depth, 1, depth), depth))),
          b_(std::span<const std::byte>(
              test::encode_weights(precision, random_values(std::size_t{columns} * depth, 0.3F, columns), depth))),
          count_(std::as_bytes(std::span(&active, 1))) {}

    struct Left {
        std::vector<std::byte> bests;
        std::vector<ScoreSum> sums;
        std::vector<float> plain;
    };

    [[nodiscard]] Left leaves(const LeftOfRows& wanted, MatrixInstructions way) const {
        const std::size_t groups = std::size_t{rows} * decoder::groups_of(columns_);
        const DeviceMemory bests(rows * decoder::most_best_tiles(columns_) * sizeof(decoder::TileBest));
        const DeviceMemory sums(groups * sizeof(ScoreSum));
        const DeviceMemory plain(groups * sizeof(float));
        decoder::FloatProduct({.rows = rows, .columns = columns_, .depth = depth, .temperature = wanted.temperature},
                              precision_,
                              {.a = a_.as(),
                               .b = b_.as(),
                               .bias = nullptr,
                               .residual = nullptr,
                               .out = nullptr,
                               .stride = 0,
                               .bests = wanted.bests ? bests.as<decoder::TileBest>() : nullptr,
                               .score_sums = wanted.sums ? sums.as<ScoreSum>() : nullptr,
                               .plain_sums = wanted.plain ? plain.as<float>() : nullptr,
                               .active = count_.as<std::uint32_t>()},
                              way)
            .enqueue(nullptr);
        return {.bests = bests.content(), .sums = test::sums_in(sums), .plain = floats_in(Precision::fp32, plain)};
    }

private:
    static constexpr std::uint32_t depth = 72;

    Precision precision_;
    std::uint32_t columns_;
    DeviceMemory a_;
    DeviceMemory b_;
    DeviceMemory count_;
};

class DecoderProductsOnGpu : public DecoderPiecesOnGpu {
protected:
    /// Calls function(product, columns, way) for every kind of product, of whole and broken tiles and groups.
    template <class Function>
    void each_product(const Function& function) {
        for (const Precision precision :
             {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
            for (const std::uint32_t columns : {8U, 64U, 65U, 192U, 257U, 600U}) {
                const HeadProduct product(precision, columns);
                for (const MatrixInstructions way : ways()) {
                    if (has_parts(precision) && way == MatrixInstructions::mma) {
                        continue;  // which it does not have
                    }
                    SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << name_of(way) << ", " << columns);
                    function(product, columns, way);
                }
            }
        }
    }
};

bool same_bits(const std::vector<ScoreSum>& a, const std::vector<ScoreSum>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

/// Each as a product leaves it that leaves nothing else.
TEST_F(DecoderProductsOnGpu, LeavesSumsBesideTheLargestScores) {
    each_product([](const HeadProduct& product, std::uint32_t, MatrixInstructions way) {
        const HeadProduct::Left both = product.leaves({.bests = true}, way);

        EXPECT_EQ(both.bests, product.leaves({.bests = true, .sums = false}, way).bests);
        EXPECT_TRUE(same_bits(both.sums, product.leaves({}, way).sums));
    });
}

TEST_F(DecoderProductsOnGpu, LeavesPlainSumsBesideThoseOfATemperature) {
    each_product([](const HeadProduct& product, std::uint32_t columns, MatrixInstructions way) {
        for (const float temperature : {0.7F, 1.5F, std::numeric_limits<float>::min()}) {
            const HeadProduct::Left both = product.leaves({.plain = true, .temperature = temperature}, way);

            EXPECT_TRUE(same_bits(both.sums, product.leaves({.temperature = temperature}, way).sums)) << temperature;
            const std::vector<ScoreSum> plain = product.leaves({}, way).sums;
            const std::size_t written = std::size_t{HeadProduct::active} * decoder::groups_of(columns);
            for (std::size_t i = 0; i < written; ++i) {
                ASSERT_EQ(both.plain[i], plain[i].sum) << i << ", temperature " << temperature;
            }
            EXPECT_TRUE(std::isnan(both.plain[written])) << temperature;
        }
    });
}

/// A score of minus infinity has no part in a sum beside the largest scores; another one that is no number spoils it.
TEST_F(DecoderProductsOnGpu, LeavesSumsOfFiniteAndOtherScores) {
    constexpr std::uint32_t rows = 200;
    constexpr std::uint32_t columns = 577;  // the last group has one column
    constexpr std::uint32_t few_deep = 8;
    constexpr std::uint32_t spoiled = 131;
    constexpr float huge = 3e38F;  // its square is infinite
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const DeviceMemory count(std::as_bytes(std::span(&rows, 1)));
    const std::uint32_t groups = decoder::groups_of(columns);
    for (const MatrixInstructions way : ways()) {
        for (const float score : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
            for (const std::uint32_t place : {0U, 63U, 64U, 255U, 530U, 576U}) {
                SCOPED_TRACE(testing::Message() << name_of(way) << ", " << score << " at " << place);
                std::vector<float> a(std::size_t{rows} * few_deep);
                std::vector<float> b(std::size_t{columns} * few_deep);
                a[spoiled * few_deep + 1] = huge;
                b[place * few_deep + 1] = std::isnan(score) ? score : std::copysign(huge, score);
                const DeviceMemory of_a(bytes_in(a));
                const DeviceMemory of_b(bytes_in(b));
                const DeviceMemory bests(rows * decoder::most_best_tiles(columns) * sizeof(decoder::TileBest));
                const DeviceMemory sums(std::size_t{rows} * groups * sizeof(ScoreSum));

                decoder::FloatProduct({.rows = rows, .columns = columns, .depth = few_deep}, Precision::tf32,
                                      {.a = of_a.as(),
                                       .b = of_b.as(),
                                       .bias = nullptr,
                                       .residual = nullptr,
                                       .out = nullptr,
                                       .stride = 0,
                                       .bests = bests.as<decoder::TileBest>(),
                                       .score_sums = sums.as<ScoreSum>(),
                                       .active = count.as<std::uint32_t>()},
                                      way)
                    .enqueue(nullptr);

                const std::vector<ScoreSum> got = test::sums_in(sums);
                for (std::uint32_t i = 0; i < got.size(); ++i) {
                    const std::uint32_t columns_of =
                        std::min(decoder::group_tokens, columns - i % groups * decoder::group_tokens);
                    const bool is_of_row = std::isnan(score) || i / groups == spoiled;  // 0 times NaN is NaN
                    const bool has_it = is_of_row && i % groups == place / decoder::group_tokens;
                    if (has_it && score != -infinity) {
                        ASSERT_TRUE(std::isnan(got[i].sum)) << i;
                    } else {  // other scores are 0
                        const std::uint32_t finite = columns_of - (has_it ? 1 : 0);
                        ASSERT_EQ(got[i].sum, static_cast<float>(finite)) << i;
                        ASSERT_EQ(got[i].largest, finite == 0 ? -infinity : 0) << i;
                    }
                }
            }
        }
    }
}

/// By scores in fp64, of vocabularies with a broken last group; the tokens are those without log-probabilities.
TEST_F(DecoderOnGpu, GivesLogProbabilitiesOfDrawnTokensAsThePlainFormulasDo) {
    constexpr std::uint32_t longest = 20;
    constexpr std::uint32_t max_new = 4;
    for (const ModelCase& one :
         {ModelCase{{.vocabulary = 513, .positions = 40, .width = 64, .layers = 1, .heads = 2, .inner = 64}},
          ModelCase{test::llama_of_all, test::parts_of_llama}}) {
        const DecoderShape& shape = one.shape;
        const RandomDecoder model(shape, 21, one.parts);
        const std::vector<Tokens> prompts = test::random_prompts(8, longest, shape.vocabulary, 4);
        // Most precisions come to the same texts, each of a prompt.
        std::map<std::pair<std::size_t, Tokens>, std::vector<double>> plain;
        for (const float temperature : {0.7F, 1.0F, 1.5F}) {
            const TokenSampling without{
                .max_prompt = longest, .max_new = max_new, .temperature = temperature, .seed = 6};
            TokenSampling drawn = without;
            drawn.log_probabilities = true;
            for (const DecoderKind kind : kinds()) {
                const std::vector<Continued> tokens = continuer(kind, model, without, 8)(prompts);

                const std::vector<Continued> continued = continuer(kind, model, drawn, 8)(prompts);

                const double most = test::log_tolerance(kind.precision) * (shape.gated ? 3 : 1);
                for (std::size_t i = 0; i < prompts.size(); ++i) {
                    SCOPED_TRACE(testing::Message() << kind << ", temperature " << temperature << ", width "
                                                    << shape.width << ", text " << i);
                    Tokens text = prompts[i];
                    ASSERT_EQ(continued[i].tokens.size(), max_new);
                    ASSERT_EQ(continued[i].tokens, tokens[i].tokens);
                    EXPECT_EQ(continued[i].start.nonfinite, 0U);
                    for (std::size_t t = 0; t < max_new; ++t) {
                        std::vector<double>& scores = plain[{prompts[i].size(), text}];
                        if (scores.empty()) {
                            scores = test::plain_decoder_scores(shape, model.weights(), text, prompts[i].size());
                        }
                        const std::uint32_t token = continued[i].tokens[t];
                        ASSERT_LT(token, shape.vocabulary);
                        EXPECT_NEAR(continued[i].log_probabilities[t], test::log_of_softmax(scores, token), most) << t;
                        text.push_back(token);
                    }
                }
            }
        }
    }
}

TEST_F(DecoderOnGpu, TakesTheSameTokensWithAndWithoutLogProbabilities) {
    for (const ModelCase& one : test::models_of_all) {
        const RandomDecoder model(one.shape, 31, one.parts);
        const std::vector<Tokens> prompts = test::random_prompts(200, 60, one.shape.vocabulary, 5);
        for (const float temperature : {0.0F, 0.7F}) {
            TokenSampling sampling{.max_prompt = 60, .max_new = 12, .temperature = temperature, .end = 9, .seed = 2};
            for (const DecoderKind kind : kinds()) {
                sampling.log_probabilities = false;
                const std::vector<Continued> without = continuer(kind, model, sampling, 200)(prompts);
                sampling.log_probabilities = true;

                const std::vector<Continued> with = continuer(kind, model, sampling, 200)(prompts);

                for (std::size_t i = 0; i < prompts.size(); ++i) {
                    ASSERT_EQ(without[i].tokens, with[i].tokens)
                        << kind << ", temperature " << temperature << ", text " << i;
                }
            }
        }
    }
}

}  // namespace
}  // namespace sluice
