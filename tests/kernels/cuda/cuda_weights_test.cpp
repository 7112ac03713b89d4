#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/decoder/weights.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "tests/kernels/cuda/half_codes.hpp"
#include "tests/support/decoder_reference.hpp"

/// How weights are packed for GPUs, which takes none.
namespace sluice {
namespace {

/// Exact in every precision.
std::vector<float> some_values(std::size_t count) {
    std::vector<float> values(count);
    std::uint32_t state = 1;
    for (float& value : values) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(static_cast<int>(state >> 25U) - 64);
    }
    return values;
}

TEST(CudaWeights, LieOnePieceBehindTheOther) {
    PackedWeights packed;
    const CudaWeights of_three(packed, 10, 4, [](std::uint32_t piece) {
        return std::vector<std::byte>(piece == 2 ? 2 : 4, std::byte(piece + 1));
    });

    const std::vector<std::byte> bytes = test::packed_bytes(packed);

    const std::string expected("\1\1\1\1\2\2\2\2\3\3", 10);
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
}

TEST(CudaWeights, OfALinearLayerAreInTheActivationsOrder) {
    constexpr std::uint32_t channels = 256;
    constexpr std::uint32_t positions = 11;
    constexpr LinearShape shape{.inputs = positions * channels, .outputs = 601, .channels = channels};
    ASSERT_LT(2 * rows_of_piece(shape.inputs), shape.outputs) << "more than two pieces";
    const std::vector<float> weights = some_values(std::size_t{shape.outputs} * shape.inputs);
    const std::vector<float> bias(shape.outputs);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        PackedWeights packed;
        const auto layer = make_cuda_linear(shape, precision, weights, bias, packed);

        const std::vector<std::byte> bytes = test::packed_bytes(packed);

        const std::size_t count = weights.size();
        const std::vector<float> got = decode(precision, std::span(bytes).first(count * element_bytes(precision)));
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t input = i % shape.inputs;
            const std::size_t from = i / shape.inputs * shape.inputs + input % channels * positions + input / channels;
            ASSERT_EQ(got[i], weights[from]) << i;
        }
    }
}

class TokenWeights : public testing::TestWithParam<Precision> {};

/// Embeddings of more tokens than a piece has rows.
TEST_P(TokenWeights, AreThoseOfTheModel) {
    constexpr DecoderShape shape{
        .vocabulary = 20'011, .positions = 4, .width = 64, .layers = 0, .heads = 1, .inner = 64};
    ASSERT_LT(2 * rows_of_piece(shape.width), shape.vocabulary) << "more than two pieces";
    const std::vector<float> tokens = some_values(std::size_t{shape.vocabulary} * shape.width);
    const std::vector<float> positions(std::size_t{shape.positions} * shape.width);
    const std::vector<float> gamma(shape.width);
    PackedWeights packed;
    const decoder::CudaDecoderWeights weights(
        shape, GetParam(), {.tokens = tokens, .positions = positions, .last_norm = {.gamma = gamma, .beta = gamma}},
        packed);

    const std::vector<std::byte> bytes = test::packed_bytes(packed);

    const auto at = std::span(bytes).subspan(2 * gamma.size() * sizeof(float));
    const std::uint32_t stride = decoder::strides_of(shape, GetParam()).vocabulary;
    const bool by_inputs = GetParam() == Precision::fp32;
    const std::size_t count = by_inputs ? std::size_t{stride} * shape.width : tokens.size();
    const auto of_tokens = at.first(count * number_bytes(GetParam()));
    const std::vector<float> got = GetParam() == Precision::tf32x3   ? decode_half_parts(of_tokens, shape.width)
                                   : GetParam() == Precision::fp16x2 ? test::decode_half_codes(of_tokens, shape.width)
                                                                     : decode(GetParam(), of_tokens);
    for (std::size_t token = 0; token < shape.vocabulary; ++token) {
        for (std::size_t i = 0; i < shape.width; ++i) {
            const std::size_t to = by_inputs ? i * stride + token : token * shape.width + i;
            ASSERT_EQ(got[to], tokens[token * shape.width + i]) << token << ", " << i;
        }
    }
    for (std::size_t token = shape.vocabulary; by_inputs && token < stride; ++token) {
        EXPECT_EQ(got[token], 0) << "padding";
    }
}

/// Tensors of 16 bits are packed as the same values in fp32 are.
class ShortTensors : public testing::TestWithParam<Precision> {};

TEST_P(ShortTensors, ArePackedAsFp32) {
    for (const MatrixOrder order : {MatrixOrder::by_inputs, MatrixOrder::by_outputs}) {
        const bool is_gpt2 = order == MatrixOrder::by_inputs;
        const DecoderShape shape{
            .vocabulary = 211, .positions = 19, .width = 64, .layers = 2, .heads = 2, .inner = 128, .gated = !is_gpt2};
        const test::RandomDecoder model(shape, 3, {.own_head = !is_gpt2, .order = order});
        for (const FloatType type : {FloatType::f16, FloatType::bf16}) {
            const test::ShortWeights weights(model.weights(), type);
            PackedWeights of_short;
            PackedWeights of_wide;
            const decoder::CudaDecoderWeights first(shape, GetParam(), weights.as_they_are(), of_short);
            const decoder::CudaDecoderWeights second(shape, GetParam(), weights.in_fp32(), of_wide);

            EXPECT_EQ(test::packed_bytes(of_short), test::packed_bytes(of_wide));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, ShortTensors,
                         testing::Values(Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::tf32,
                                         Precision::fp16, Precision::bf16, Precision::fp8),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

INSTANTIATE_TEST_SUITE_P(Precisions, TokenWeights,
                         testing::Values(Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::tf32,
                                         Precision::fp16, Precision::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace sluice
