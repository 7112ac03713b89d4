#include <gtest/gtest.h>

#include "kernels/kernels.hpp"
#include "tests/kernels/decoder_texts.hpp"
#include "tests/support/decoder_reference.hpp"

namespace sluice {
namespace {

using test::RandomDecoder;

/// Tensors of 16 bits are packed as the same values in fp32 are.
TEST(DecoderWeights, MayBeOf16Bits) {
    constexpr DecoderShape gpt2{.vocabulary = 53, .positions = 40, .width = 24, .layers = 2, .heads = 3, .inner = 70};
    const DecoderShape llama =
        test::like_llama({.vocabulary = 53, .positions = 40, .width = 32, .layers = 2, .heads = 4, .inner = 70}, 2);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        for (const FloatType type : {FloatType::f16, FloatType::bf16}) {
            for (const RandomDecoder& model : {RandomDecoder(gpt2, 3), RandomDecoder(llama, 4, test::parts_of_llama)}) {
                const test::ShortWeights weights(model.weights(), type);
                PackedWeights of_short;
                PackedWeights of_wide;
                const DecoderKernels& kernels = decoder_kernels_of(DeviceKind::host, precision);
                const auto first = kernels.decoder(model.shape(), weights.as_they_are(), {}, of_short);
                const auto second = kernels.decoder(model.shape(), weights.in_fp32(), {}, of_wide);

                EXPECT_EQ(test::packed_bytes(of_short), test::packed_bytes(of_wide));
            }
        }
    }
}

}  // namespace
}  // namespace sluice
