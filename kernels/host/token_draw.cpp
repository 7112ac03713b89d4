#include "kernels/host/token_draw.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/host/byte_draw.hpp"
#include "kernels/host/elementwise.hpp"

namespace sluice {
namespace {

/// Sort key: by score; among equal scores the first ranks higher.
std::uint64_t token_rank(float score, std::size_t token) {
    constexpr std::uint32_t sign = 1U << 31U;
    const auto bits = std::bit_cast<std::uint32_t>(score == 0 ? 0.0F : score);
    const std::uint32_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
    return std::uint64_t{ordered} << 32U | (UINT32_MAX - token);
}

std::uint32_t token_of(std::uint64_t rank) {
    return UINT32_MAX - static_cast<std::uint32_t>(rank);
}

/// to = e^((scores - largest) / temperature)
void exp_below(std::span<const float> scores, float largest, float temperature, std::vector<float>& to) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
        to[i] = (scores[i] - largest) / temperature;
    }
    exp_all(to.size(), to.data(), to.data());
}

}  // namespace

TokenDraw::TokenDraw(const TokenSampling& sampling, std::uint32_t vocabulary)
    : sampling_(sampling), scores_(vocabulary), weights_(vocabulary), marked_(vocabulary) {
    ranks_.reserve(vocabulary);
}

std::uint32_t TokenDraw::choose(std::span<const float> scores,
                                std::initializer_list<std::span<const std::uint32_t>> before, float uniform) {
    std::ranges::transform(scores, scores_.begin(), [](float score) {
        return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
    });
    if (sampling_.repetition_penalty != 1) {
        punish(before);
    }
    const std::size_t best = first_largest(scores_);
    if (sampling_.temperature == 0 || !std::isfinite(scores_[best])) {
        return static_cast<std::uint32_t>(best);
    }
    exp_below(scores_, scores_[best], sampling_.temperature, weights_);
    if ((sampling_.top_k != 0 && sampling_.top_k < scores_.size()) || sampling_.top_p < 1) {
        keep_likely();
    }
    return first_above(uniform);
}

/// Once per token, however often it occurs. Keskar et al. 2019, "CTRL".
void TokenDraw::punish(std::initializer_list<std::span<const std::uint32_t>> before) {
    for (const std::span<const std::uint32_t> tokens : before) {
        for (const std::uint32_t token : tokens) {
            if (marked_[token] == 0) {
                float& score = scores_[token];
                score = score > 0 ? score / sampling_.repetition_penalty : score * sampling_.repetition_penalty;
                marked_[token] = 1;
            }
        }
    }
    for (const std::span<const std::uint32_t> tokens : before) {
        for (const std::uint32_t token : tokens) {
            marked_[token] = 0;
        }
    }
}

/// Sets the other weights to 0. Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p): of the tokens that top-k keeps,
/// the smallest set of the likeliest whose probabilities add up to top_p.
void TokenDraw::keep_likely() {
    ranks_.clear();
    for (std::size_t i = 0; i < scores_.size(); ++i) {
        ranks_.push_back(token_rank(scores_[i], i));
    }
    if (sampling_.top_k != 0 && sampling_.top_k < ranks_.size()) {
        std::ranges::nth_element(ranks_, ranks_.begin() + sampling_.top_k, std::greater());
        ranks_.resize(sampling_.top_k);
    }
    if (sampling_.top_p < 1) {
        std::ranges::sort(ranks_, std::greater());
        float all = 0;
        for (const std::uint64_t rank : ranks_) {
            all += weights_[token_of(rank)];
        }
        float sum = 0;
        std::size_t kept = 0;
        while (kept < ranks_.size() && sum < sampling_.top_p * all) {
            sum += weights_[token_of(ranks_[kept++])];
        }
        ranks_.resize(std::max<std::size_t>(kept, 1));
    }
    for (const std::uint64_t rank : ranks_) {
        marked_[token_of(rank)] = 1;
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        weights_[i] = marked_[i] != 0 ? weights_[i] : 0.0F;
    }
    for (const std::uint64_t rank : ranks_) {
        marked_[token_of(rank)] = 0;
    }
}

std::uint32_t TokenDraw::first_above(float uniform) const {
    float all = 0;
    for (const float weight : weights_) {
        all += weight;
    }
    float sum = 0;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
        if (weights_[i] != 0) {
            sum += weights_[i] / all;
            last = i;
            if (sum > uniform) {
                return i;
            }
        }
    }
    return last;
}

float TokenDraw::log_probability(std::span<const float> scores, std::uint32_t token) {
    const float best = scores[first_largest(scores)];
    exp_below(scores, best, 1, weights_);
    double sum = 0;
    for (const float weight : weights_) {
        sum += static_cast<double>(weight);
    }
    const double value = static_cast<double>(scores[token]) - static_cast<double>(best) - plain_log(sum);
    return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
}

}  // namespace sluice
