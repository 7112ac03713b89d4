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

/// How weights are packed for GPUs, which takes none.
namespace sluice {
namespace {

std::vector<std::byte> packed_by(PackedWeights& packed) {
    NodeMemory memory = NodeMemory::of_process(packed.bytes());
    const std::span<const std::byte> bytes = memory.bytes();
    constexpr std::uint32_t threads = 3;
    packed.pack(std::move(memory), {}, threads);
    return {bytes.begin(), bytes.end()};
}

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

    const std::vector<std::byte> bytes = packed_by(packed);

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

        const std::vector<std::byte> bytes = packed_by(packed);

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

    const std::vector<std::byte> bytes = packed_by(packed);

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

INSTANTIATE_TEST_SUITE_P(Precisions, TokenWeights,
                         testing::Values(Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::tf32,
                                         Precision::fp16, Precision::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace sluice
