#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/decoder/rows/rows.hpp"
#include "tests/kernels/cuda/decoder_on_gpu.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"
#include "tests/kernels/cuda/e4m3.hpp"

namespace sluice {
namespace {

using test::Continued;
using test::DecoderKind;
using test::DecoderOnGpu;
using test::DecoderPiecesOnGpu;
using test::llama_of_all;
using test::log_of_softmax;
using test::ModelCase;
using test::models_of_all;
using test::plain_decoder_scores;
using test::PlainFactors;
using test::random_prompts;
using test::RandomDecoder;
using test::Tokens;
using test::values_of_e4m3;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(DecoderPiecesOnGpu, RowsAreNormalisedToCodes) {
    constexpr std::uint32_t rows = 37;
    constexpr std::array<std::uint32_t, 1> active{35};
    constexpr float scale = 4;
    const DeviceMemory count(std::as_bytes(std::span(active)));
    for (const std::uint32_t width : {16U, 768U, 1008U, 1040U, 2064U, 4096U}) {
        std::vector<float> x = random_values(std::size_t{rows} * width, 2, width);
        x[width / 2] = 3000;  // which makes the others small
        x = rounded(Precision::bf16, x);
        const DeviceMemory from(std::span<const std::byte>(encode(Precision::bf16, x)));
        for (const bool is_rms : {false, true}) {
            const DeviceMemory to(std::size_t{rows} * width);

            decoder::enqueue_norm_codes({.from = from.as(),
                                         .to = to.as(),
                                         .epsilon = 1e-5F,
                                         .scale = scale,
                                         .width = width,
                                         .most_rows = rows,
                                         .rows = count.as<std::uint32_t>(),
                                         .is_rms = is_rms},
                                        nullptr);

            const std::vector<std::byte> codes = to.content();
            const std::vector<float> got = values_of_e4m3(codes);
            for (std::uint32_t row = 0; row < active[0]; ++row) {
                const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * width);
                const double mean = is_rms ? 0 : std::accumulate(begin, begin + width, 0.0) / width;
                double variance = 0;
                for (std::uint32_t i = 0; i < width; ++i) {
                    variance += std::pow(static_cast<double>(begin[i]) - mean, 2) / width;
                }
                for (std::uint32_t i = 0; i < width; ++i) {
                    const double expected = static_cast<double>(scale) * (static_cast<double>(begin[i]) - mean) /
                                            std::sqrt(variance + 1e-5);
                    const double half_a_unit = std::max(std::abs(expected) / 16, 0x1p-10);
                    ASSERT_NEAR(got[row * width + i], expected, 1.001 * half_a_unit)
                        << width << " wide, row " << row << ", column " << i;
                }
            }
            EXPECT_EQ(codes[active[0] * width], std::byte{0xFF});
        }
    }
}

/// What a GPU that there need not be would refuse.
std::string refusal_of(const DecoderShape& shape, const std::function<void(RandomDecoder&)>& change = {}) {
    RandomDecoder model(shape, 3);
    if (change) {
        change(model);
    }
    try {
        PackedWeights packed;
        const auto layer = decoder_kernels_of(DeviceKind::cuda, Precision::fp8)
                               .decoder(shape, model.weights(), {.max_prompt = 8, .max_new = 4}, packed);
        packed.pack(NodeMemory::of_process(packed.bytes()), {}, 2);
    } catch (const Error& error) {
        return render(error.text());
    }
    return {};
}

TEST(Fp8Decoder, TakesWidthsOfWholeCopiesOnly) {
    EXPECT_EQ(refusal_of(test::of_all), "");
    DecoderShape inner = test::of_all;
    inner.inner = 272;
    EXPECT_THAT(refusal_of(inner), HasSubstr("E-GPU-067"));
    EXPECT_EQ(refusal_of(llama_of_all), "") << "inner values that gates make stay in bf16";
    DecoderShape width = test::of_all;
    width.width = 120;
    width.head_size = 64;
    EXPECT_THAT(refusal_of(width), HasSubstr("E-GPU-067"));
}

TEST(Fp8Decoder, RefusesWeightsWhoseInnerValuesMayHaveNoRoom) {
    EXPECT_EQ(refusal_of(test::of_all, [](RandomDecoder& model) { model.set_inner_bias(3, 5e4F); }), "");
    EXPECT_THAT(refusal_of(test::of_all, [](RandomDecoder& model) { model.set_inner_bias(3, 7e4F); }),
                AllOf(HasSubstr("E-NUM-110"), HasSubstr("inner values may be as large as 7e+04")));
}

/// Codes have no infinity: what is infinite must not become a number.
TEST_F(DecoderPiecesOnGpu, CodesOfRowsThatAreNotFiniteAreNan) {
    constexpr std::uint32_t width = 256;
    constexpr std::array<std::uint32_t, 1> rows{3};
    const DeviceMemory count(std::as_bytes(std::span(rows)));
    for (const float spoilt : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> x = random_values(rows[0] * width, 1, 5);
        x[width + 77] = spoilt;
        const DeviceMemory from(std::span<const std::byte>(encode(Precision::bf16, x)));
        for (const bool is_rms : {false, true}) {
            const DeviceMemory to(rows[0] * width);

            decoder::enqueue_norm_codes({.from = from.as(),
                                         .to = to.as(),
                                         .epsilon = 1e-5F,
                                         .scale = 8,
                                         .width = width,
                                         .most_rows = rows[0],
                                         .rows = count.as<std::uint32_t>(),
                                         .is_rms = is_rms},
                                        nullptr);

            const std::vector<float> got = values_of_e4m3(to.content());
            for (std::uint32_t row = 0; row < rows[0]; ++row) {
                const auto codes = std::span(got).subspan(std::size_t{row} * width, width);
                EXPECT_EQ(std::ranges::any_of(codes, [](float value) { return std::isnan(value); }), row == 1) << row;
            }
            EXPECT_TRUE(std::isnan(got[width + 77]));
        }
    }
}

/// Log-probabilities are off by what rounding factors to four bits makes of them: the same formulas with rounded
/// factors are off by as much, and nearer. They come to other values where another rounding before has moved a factor
/// over the middle between two codes.
TEST_F(DecoderOnGpu, ErrsInFp8AsRoundedFactorsDo) {
    if (gpu().instructions() != MatrixInstructions::wgmma) {
        GTEST_SKIP() << "needs wgmma";
    }
    for (const ModelCase& one : models_of_all) {
        const RandomDecoder model(one.shape, 21, one.parts);
        const std::vector<Tokens> prompts = random_prompts(20, 40, one.shape.vocabulary, 4);
        const TokenSampling greedy{.max_prompt = 40, .max_new = 6, .temperature = 0, .log_probabilities = true};

        const std::vector<Continued> continued =
            continuer({Precision::fp8, MatrixInstructions::wgmma}, model, greedy, 20)(prompts);

        double off = 0;           // squared, from the exact ones
        double off_by_rules = 0;  // of rounded factors by the plain formulas
        double apart = 0;         // these two
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            Tokens text = prompts[i];
            EXPECT_EQ(continued[i].start.nonfinite, 0U);
            for (std::size_t t = 0; t < 6; ++t) {
                const std::uint32_t token = continued[i].tokens.at(t);
                const auto by_rules = [&](PlainFactors factors) {
                    return log_of_softmax(
                        plain_decoder_scores(one.shape, model.weights(), text, prompts[i].size(), factors), token);
                };
                const double exact = by_rules(PlainFactors::exact);
                const double rounded_factors = by_rules(PlainFactors::four_bits);
                const double got = continued[i].log_probabilities.at(t);
                off += std::pow(got - exact, 2);
                off_by_rules += std::pow(rounded_factors - exact, 2);
                apart += std::pow(got - rounded_factors, 2);
                text.push_back(token);
            }
        }
        EXPECT_LT(off, 2 * off_by_rules) << "width " << one.shape.width;
        EXPECT_LT(apart, 0.8 * off_by_rules) << "width " << one.shape.width;
    }
}

}  // namespace
}  // namespace sluice
