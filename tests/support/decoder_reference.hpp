#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice::test {

/// Scores of what may follow `tokens`, in fp64, from the formulas: every position computed anew, nothing kept.
[[nodiscard]] std::vector<double> plain_decoder_scores(const DecoderShape& shape, const DecoderWeights& weights,
                                                       std::span<const std::uint32_t> tokens);

/// Random weights of any sizes, none of them zero; large enough that texts do not repeat themselves.
class RandomDecoder {
public:
    RandomDecoder(const DecoderShape& shape, std::uint32_t seed);

    [[nodiscard]] const DecoderShape& shape() const noexcept { return shape_; }
    [[nodiscard]] DecoderWeights weights() const;

    /// Of one value of the first layer's inner ones, which becomes about as large.
    void set_inner_bias(std::uint32_t at, float bias);

private:
    DecoderShape shape_;
    std::vector<std::vector<float>> tensors_;
};

}  // namespace sluice::test
