#include "tests/support/gru_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sluice::test {
namespace {

template <class Real>
using Vector = std::vector<Real>;

/// matrix (bias.size(), in.size()) times in, plus bias.
template <class Real>
Vector<Real> affine(std::span<const float> matrix, std::span<const float> bias, const Vector<Real>& in) {
    Vector<Real> out(bias.size());
    for (std::size_t o = 0; o < out.size(); ++o) {
        Real sum = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            sum += static_cast<Real>(matrix[o * in.size() + i]) * in[i];
        }
        out[o] = sum + static_cast<Real>(bias[o]);
    }
    return out;
}

template <class Real>
Real sigmoid(Real x) {
    return 1 / (1 + std::exp(-x));
}

template <class Real>
void gru_step(const GruLayerWeights& layer, const Vector<Real>& in, Vector<Real>& state) {
    const std::size_t hidden = state.size();
    const Vector<Real> x = affine(layer.input, layer.input_bias, in);
    const Vector<Real> h = affine(layer.hidden, layer.hidden_bias, state);
    for (std::size_t j = 0; j < hidden; ++j) {
        const Real r = sigmoid(x[j] + h[j]);
        const Real z = sigmoid(x[hidden + j] + h[hidden + j]);
        const Real n = std::tanh(x[2 * hidden + j] + r * h[2 * hidden + j]);
        state[j] = (1 - z) * n + z * state[j];
    }
}

template <class Real>
struct Network {
    const GruShape& shape;
    const GruWeights& weights;
    std::vector<Vector<Real>> states = std::vector<Vector<Real>>(shape.layers, Vector<Real>(shape.hidden));

    Vector<Real> scores_after(std::uint8_t byte) {
        const auto row = weights.embedding.subspan(std::size_t{byte} * shape.embedding, shape.embedding);
        Vector<Real> value(row.begin(), row.end());
        for (std::size_t layer = 0; layer < states.size(); ++layer) {
            gru_step(weights.layers[layer], value, states[layer]);
            value = states[layer];
        }
        return affine(weights.linear, weights.linear_bias, value);
    }
};

struct Choice {
    std::uint8_t byte;
    double margin;
};

template <class Real>
Choice choose(const Vector<Real>& scores, const Sampling& sampling, float uniform) {
    if (sampling.temperature == 0) {
        Vector<Real> sorted = scores;
        std::ranges::sort(sorted, std::greater());
        return {static_cast<std::uint8_t>(std::ranges::max_element(scores) - scores.begin()),
                static_cast<double>(sorted[0] - sorted[1])};
    }
    const Vector<Real> probabilities = reference_probabilities(scores, sampling);
    std::size_t last = gru_symbols - 1;
    while (last > 0 && probabilities[last] == 0) {
        --last;
    }
    Real sum = 0;
    double margin = 1e9;
    std::size_t chosen = last;
    for (std::size_t i = 0; i < last; ++i) {
        sum += probabilities[i];
        if (sum > 0) {  // or no draw is below it
            margin = std::min(margin, std::abs(static_cast<double>(sum) - static_cast<double>(uniform)));
        }
        if (chosen == last && sum > static_cast<Real>(uniform)) {
            chosen = i;
        }
    }
    return {static_cast<std::uint8_t>(chosen), margin};
}

template <class Real>
double log_probability(const Vector<Real>& scores, std::uint8_t byte) {
    double sum = 0;
    for (const Real score : scores) {
        sum += std::exp(static_cast<double>(score));
    }
    return static_cast<double>(scores[byte]) - std::log(sum);
}

}  // namespace

template <class Real>
std::vector<Real> reference_probabilities(const std::vector<Real>& scores, const Sampling& sampling) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(sampling.top_k == 0 ? order.size() : std::min<std::size_t>(sampling.top_k, order.size()));
    std::vector<Real> probabilities(scores.size(), 0);
    const Real best = scores[order.front()];
    Real sum = 0;
    for (const std::size_t i : order) {
        probabilities[i] = std::exp((scores[i] - best) / static_cast<Real>(sampling.temperature));
        sum += probabilities[i];
    }
    for (Real& probability : probabilities) {
        probability /= sum;
    }
    return probabilities;
}

double reference_log_likelihood(const GruShape& shape, const GruWeights& weights, std::string_view text) {
    Network<float> network{shape, weights};
    double sum = 0;
    std::uint8_t byte = 1;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const Vector<float> scores = network.scores_after(byte);
        byte = i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
        sum += log_probability(scores, byte);
    }
    return sum;
}

template <class Real>
ReferenceText write_reference(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                              const std::string& prefix, const std::function<float(std::uint32_t)>& uniform) {
    Network<Real> network{shape, weights};
    ReferenceText text;
    std::uint8_t byte = 1;
    while (text.bytes.size() < sampling.max_length) {
        const Vector<Real> scores = network.scores_after(byte);
        if (text.bytes.size() < prefix.size()) {
            byte = static_cast<std::uint8_t>(prefix[text.bytes.size()]);
        } else {
            const auto [chosen, margin] =
                choose(scores, sampling, uniform(static_cast<std::uint32_t>(text.bytes.size())));
            text.margin = std::min(text.margin, margin);
            text.log_probability += log_probability(scores, chosen);
            byte = chosen;
            if (byte == 0) {
                text.ended = true;
                break;
            }
        }
        text.bytes += static_cast<char>(byte);
    }
    return text;
}

template ReferenceText write_reference<float>(const GruShape&, const GruWeights&, const Sampling&, const std::string&,
                                              const std::function<float(std::uint32_t)>&);
template ReferenceText write_reference<double>(const GruShape&, const GruWeights&, const Sampling&, const std::string&,
                                               const std::function<float(std::uint32_t)>&);
template std::vector<float> reference_probabilities(const std::vector<float>&, const Sampling&);
template std::vector<double> reference_probabilities(const std::vector<double>&, const Sampling&);

}  // namespace sluice::test
