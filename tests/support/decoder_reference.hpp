#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice::test {

/// Scores of what may follow `tokens`, of which AttentionMask::prefix takes the first `prompt` for the prompt, in fp64,
/// from the formulas: every position computed anew, nothing kept. Radford et al. 2019 (GPT-2); Touvron et al. 2023
/// (Llama), with Zhang, Sennrich 2019 (RMS normalisation), Shazeer 2020 (gates), Su et al. 2021 (rotary positions;
/// pairs of values half a head apart), Ainslie et al. 2023 (grouped heads).
[[nodiscard]] std::vector<double> plain_decoder_scores(const DecoderShape& shape, const DecoderWeights& weights,
                                                       std::span<const std::uint32_t> tokens, std::size_t prompt = 0);

/// What a decoder's weights have and how they lie.
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

    /// Of one value of the first layer's inner ones, which becomes about as large.
    void set_inner_bias(std::uint32_t at, float bias);

private:
    DecoderShape shape_;
    DecoderParts parts_;
    std::vector<std::vector<float>> tensors_;
};

}  // namespace sluice::test
