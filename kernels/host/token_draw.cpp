#include "kernels/host/token_draw.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/host/byte_draw.hpp"
#include "kernels/host/elementwise.hpp"

namespace sluice {
namespace {

/// Sort key: by score; among equal scores the first ranks higher.
std::uint64_t token_rank(float score, std::size_t token) {
    return std::uint64_t{ordered_bits(score)} << 32U | (UINT32_MAX - token);
}

std::uint32_t token_of(std::uint64_t rank) {
    return UINT32_MAX - static_cast<std::uint32_t>(rank);
}

constexpr std::size_t score_bins = 2048;

/// Bin of a score so far below the largest one, in units of the temperature.
std::uint16_t bin_of(float distance) {
    constexpr float bins_a_unit = 64;  // a weight of 2^-40 is 27.7 units away
    return static_cast<std::uint16_t>(std::min(distance * bins_a_unit, static_cast<float>(score_bins - 1)));
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
    : sampling_(sampling),
      scores_(vocabulary),
      exponentials_(vocabulary),
      weights_(vocabulary),
      marked_(vocabulary),
      ranks_(vocabulary),
      bins_(vocabulary) {}

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
    weigh(scores_[best]);
    if ((sampling_.top_k != 0 && sampling_.top_k < scores_.size()) || sampling_.top_p < 1) {
        keep_likely(scores_[best]);
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

void TokenDraw::weigh(float largest) {
    exp_below(scores_, largest, sampling_.temperature, exponentials_);
    std::ranges::transform(exponentials_, weights_.begin(), [](float exponential) {
        return static_cast<std::uint64_t>(exponential * token_weight_unit);
    });
}

/// Sets the other weights to 0. Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p): of the tokens that top-k keeps,
/// the smallest set of the likeliest whose probabilities add up to top_p.
void TokenDraw::keep_likely(float largest) {
    for (std::size_t i = 0; i < scores_.size(); ++i) {
        ranks_[i] = token_rank(scores_[i], i);
        bins_[i] = bin_of((largest - scores_[i]) / sampling_.temperature);
    }
    const auto drop_below = [&](std::uint64_t least) {
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            weights_[i] = ranks_[i] >= least ? weights_[i] : 0;
        }
    };
    if (sampling_.top_k != 0 && sampling_.top_k < scores_.size()) {
        drop_below(rank_at(sampling_.top_k, [](std::size_t) { return std::uint64_t{1}; }));
    }
    if (sampling_.top_p < 1) {
        const std::uint64_t all = std::accumulate(weights_.begin(), weights_.end(), std::uint64_t{0});
        const auto wanted =
            static_cast<std::uint64_t>(std::ceil(static_cast<double>(sampling_.top_p) * static_cast<double>(all)));
        drop_below(rank_at(wanted, [this](std::size_t token) { return weights_[token]; }));
    }
}

/// The rank at which weigh(token), added up from the largest score down, reaches `wanted`. Sorts only the bin in which
/// it does.
template <class Weigh>
std::uint64_t TokenDraw::rank_at(std::uint64_t wanted, const Weigh& weigh) {
    bin_sums_.assign(score_bins, 0);
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        bin_sums_[bins_[i]] += weigh(i);
    }
    std::size_t bin = 0;
    for (; bin_sums_[bin] < wanted; ++bin) {
        wanted -= bin_sums_[bin];
    }
    in_bin_.clear();
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        if (bins_[i] == bin) {
            in_bin_.push_back(ranks_[i]);
        }
    }
    std::ranges::sort(in_bin_, std::greater());
    auto at = in_bin_.begin();
    for (; weigh(token_of(*at)) < wanted; ++at) {
        wanted -= weigh(token_of(*at));
    }
    return *at;
}

std::uint32_t TokenDraw::first_above(float uniform) const {
    const std::uint64_t all = std::accumulate(weights_.begin(), weights_.end(), std::uint64_t{0});
    const auto before = static_cast<std::uint64_t>(static_cast<double>(uniform) * static_cast<double>(all));
    std::uint64_t sum = 0;
    std::uint32_t token = 0;
    while ((sum += weights_[token]) <= before) {
        ++token;
    }
    return token;
}

float TokenDraw::log_probability(std::span<const float> scores, std::uint32_t token) {
    const float best = scores[first_largest(scores)];
    exp_below(scores, best, 1, exponentials_);
    double sum = 0;
    for (const float exponential : exponentials_) {
        sum += static_cast<double>(exponential);
    }
    const double value = static_cast<double>(scores[token]) - static_cast<double>(best) - plain_log(sum);
    return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
}

}  // namespace sluice
