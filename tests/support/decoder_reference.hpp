#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice::test {

/// What products multiply.
enum class PlainFactors {
    exact,
    /// Normalised rows without gamma and beta, and the products' weights with gamma, less their mean over the inputs
    /// unless the normalisation is by the root mean square, are rounded to four bits of significance; so are inner
    /// values that no gates have made, and their weights. The rest is exact.
    four_bits,
};

/// Scores of the token after `tokens`, in fp64, straight from the formulas, with every position computed anew.
/// `prompt`: number of tokens that AttentionMask::prefix treats as the prompt. Radford et al. 2019 (GPT-2); Touvron et
/// al. 2023 (Llama), with Zhang, Sennrich 2019 (RMS normalisation), Shazeer 2020 (gates), Su et al. 2021 (rotary
/// positions; pairs of values half a head apart), Ainslie et al. 2023 (grouped heads).
[[nodiscard]] std::vector<double> plain_decoder_scores(const DecoderShape& shape, const DecoderWeights& weights,
                                                       std::span<const std::uint32_t> tokens, std::size_t prompt = 0,
                                                       PlainFactors factors = PlainFactors::exact);

/// Optional parts of a decoder's weights, and their layout.
struct DecoderParts {
    bool biases = true;
    bool own_head = false;
    MatrixOrder order = MatrixOrder::by_inputs;
};

/// Random weights of any sizes, none of them zero; large enough that texts do not repeat themselves.
class RandomDecoder {
public:
    RandomDecoder(const DecoderShape& shape, std::uint32_t seed, const DecoderParts& parts = {});

    [[nodiscard]] const DecoderShape& shape() const noexcept { return shape_; }
    [[nodiscard]] DecoderWeights weights() const;

    /// Sets the bias of inner value `at` of the first layer, so that the value becomes about as large.
    void set_inner_bias(std::uint32_t at, float bias);

    /// Sets all values of a token's embedding.
    void set_embedding(std::uint32_t token, float value);

private:
    DecoderShape shape_;
    DecoderParts parts_;
    std::vector<std::vector<float>> tensors_;
};

/// A decoder's weights in a type of 16 bits, without what it has no room for, and the same values in fp32.
class ShortWeights {
public:
    ShortWeights(const DecoderWeights& weights, FloatType type);

    [[nodiscard]] const DecoderWeights& as_they_are() const noexcept { return short_; }
    [[nodiscard]] const DecoderWeights& in_fp32() const noexcept { return wide_; }

private:
    std::vector<std::vector<std::uint16_t>> shorts_;
    std::vector<std::vector<float>> floats_;
    DecoderWeights short_;
    DecoderWeights wide_;
};

/// All bytes of weights once they are packed.
[[nodiscard]] std::vector<std::byte> packed_bytes(PackedWeights& packed);

}  // namespace sluice::test
