#include "kernels/host/byte_draw.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/host/elementwise.hpp"

namespace sluice {
namespace {

/// Sort key: a total order of scores, NaN included; among equal scores the first ranks higher.
std::uint64_t rank_of(float score, std::size_t place) {
    return (std::uint64_t{ordered_bits(score)} << 32U) | (gru_symbols - place);
}

template <class Values>
float sum_in_order(const Values& values) {
    float sum = 0;
    for (const float value : values) {
        sum += value;
    }
    return sum;
}

}  // namespace

std::size_t first_largest(std::span<const float> scores) {
    std::size_t place = 0;
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (scores[i] > largest) {
            largest = scores[i];
            place = i;
        }
    }
    return place;
}

double plain_log(double x) {
    constexpr double ln2 = 0.69314718055994530942;
    constexpr double half_root = 0.70710678118654752440;
    constexpr int terms = 11;  // the next one is less than 1e-17 of the sum
    int exponent = 0;
    double fraction = std::frexp(x, &exponent);
    if (fraction < half_root) {
        fraction *= 2;
        --exponent;
    }
    const double s = (fraction - 1) / (fraction + 1);  // ln fraction = 2 (s + s^3 / 3 + s^5 / 5 + …)
    double series = 0;
    for (int term = terms - 1; term >= 0; --term) {
        series = series * (s * s) + 1.0 / (2 * term + 1);
    }
    return 2 * s * series + exponent * ln2;
}

void ByteDraw::look_at(const float* scores) {
    std::copy_n(scores, gru_symbols, scores_.begin());
    best_ = static_cast<std::uint8_t>(first_largest(scores_));
    const float best = scores_[best_];
    Values weights;
    std::ranges::transform(scores_, weights.begin(), [&](float score) { return score - best; });
    exp_all(gru_symbols, weights.data(), weights.data());
    float sum = sum_in_order(weights);
    log_sum_ = plain_log(static_cast<double>(sum));
    last_ = gru_symbols - 1;
    if (sampling_.temperature == 0) {
        return;
    }
    if (sampling_.temperature != 1) {
        std::ranges::transform(scores_, weights.begin(),
                               [&](float score) { return (score - best) / sampling_.temperature; });
        exp_all(gru_symbols, weights.data(), weights.data());
    }
    if (sampling_.top_k != 0 && sampling_.top_k < gru_symbols) {
        keep_largest(weights);
    }
    sum = sum_in_order(weights);
    std::ranges::transform(weights, probabilities_.begin(), [&](float weight) { return weight / sum; });
    while (last_ > 0 && probabilities_[last_] == 0) {
        --last_;
    }
}

/// Sets the other weights to 0.
void ByteDraw::keep_largest(Values& weights) const {
    std::array<std::uint64_t, gru_symbols> ranks;
    for (std::size_t i = 0; i < gru_symbols; ++i) {
        ranks[i] = rank_of(scores_[i], i);
    }
    auto sorted = ranks;
    const auto least = sorted.begin() + (sampling_.top_k - 1);
    std::ranges::nth_element(sorted, least, std::greater());
    for (std::size_t i = 0; i < gru_symbols; ++i) {
        weights[i] = ranks[i] < *least ? 0.0F : weights[i];
    }
}

std::uint8_t ByteDraw::choose(float uniform) const {
    if (sampling_.temperature == 0) {
        return best_;
    }
    float sum = 0;
    for (std::size_t i = 0; i < gru_symbols; ++i) {
        sum += probabilities_[i];
        if (sum > uniform) {
            return static_cast<std::uint8_t>(i);
        }
    }
    return last_;
}

float ByteDraw::gap() const {
    const bool greedy = sampling_.temperature == 0;
    if (!greedy && (sampling_.top_k == 0 || sampling_.top_k >= gru_symbols)) {
        return TextDoubt::none;
    }
    float kept = TextDoubt::none;
    float dropped = -TextDoubt::none;
    for (std::size_t i = 0; i < gru_symbols; ++i) {
        if (greedy ? i == best_ : probabilities_[i] != 0) {
            kept = std::min(kept, scores_[i]);
        } else {
            dropped = std::max(dropped, scores_[i]);
        }
    }
    return kept - dropped;
}

TextDoubt ByteDraw::doubt(float uniform) const {
    if (std::isnan(log_sum_)) {
        constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
        return {.distance = unknown, .gap = unknown};
    }
    TextDoubt doubt{.gap = gap()};
    if (sampling_.temperature == 0) {
        return doubt;
    }
    float before = 0;
    for (std::size_t i = 0; i <= last_; ++i) {
        const float sum = before + probabilities_[i];
        if (sum > uniform || i == last_) {
            if (i != last_) {
                doubt.distance = sum - uniform;
            }
            if (before > 0) {
                doubt.distance = std::min(doubt.distance, uniform - before);
            }
            break;
        }
        before = sum;
    }
    return doubt;
}

double ByteDraw::log_probability(std::uint8_t byte) const {
    return static_cast<double>(scores_[byte]) - static_cast<double>(scores_[best_]) - log_sum_;
}

}  // namespace sluice
