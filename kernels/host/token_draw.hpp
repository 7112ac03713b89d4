#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice {

/// Chooses the next token by its scores, by the rules of Decoder. Gives the same results on every machine.
class TokenDraw {
public:
    TokenDraw(const TokenSampling& sampling, std::uint32_t vocabulary);

    /// scores: (vocabulary); `before`: the text's tokens so far, as several spans. `uniform` in [0, 1) is ignored if
    /// the temperature is 0.
    [[nodiscard]] std::uint32_t choose(std::span<const float> scores,
                                       std::initializer_list<std::span<const std::uint32_t>> before, float uniform);

    /// ln of softmax(scores) at `token`.
    [[nodiscard]] float log_probability(std::span<const float> scores, std::uint32_t token);

private:
    void punish(std::initializer_list<std::span<const std::uint32_t>> before);
    void weigh(float largest);
    void keep_likely(float largest);
    template <class Weigh>
    [[nodiscard]] std::uint64_t rank_at(std::uint64_t wanted, const Weigh& weigh);
    [[nodiscard]] std::uint32_t first_above(float uniform) const;

    TokenSampling sampling_;
    std::vector<float> scores_;
    std::vector<float> exponentials_;
    std::vector<std::uint64_t> weights_;  // the likeliest one's is token_weight_unit
    std::vector<std::uint8_t> marked_;    // flags of tokens, all 0 between calls

    // With top_k or top_p: each token's rank, and the bin of that order which it is in.
    std::vector<std::uint64_t> ranks_;
    std::vector<std::uint16_t> bins_;
    std::vector<std::uint64_t> bin_sums_;
    std::vector<std::uint64_t> in_bin_;
};

}  // namespace sluice
