#include "tests/support/decoder_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace sluice::test {
namespace {

using Vector = std::vector<double>;

Vector normalised(const Vector& x, const DecoderNorm& norm, double epsilon) {
    double mean = 0;
    for (const double value : x) {
        mean += value / static_cast<double>(x.size());
    }
    double variance = 0;
    for (const double value : x) {
        variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
    }
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * static_cast<double>(norm.gamma[i]) +
               static_cast<double>(norm.beta[i]);
    }
    return y;
}

Vector product(const Vector& x, const DecoderLinear& linear) {
    const std::size_t outputs = linear.bias.size();
    Vector y(linear.bias.begin(), linear.bias.end());
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t o = 0; o < outputs; ++o) {
            y[o] += x[i] * static_cast<double>(linear.weights[i * outputs + o]);
        }
    }
    return y;
}

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// What `query`'s position takes from all up to its own. qkv: (positions) of (3 width).
Vector attended(const DecoderShape& shape, const std::vector<Vector>& qkv, std::size_t query) {
    const std::size_t size = shape.width / shape.heads;
    Vector out(shape.width);
    for (std::size_t head = 0; head < shape.heads; ++head) {
        Vector weights(query + 1);
        double sum = 0;
        for (std::size_t p = 0; p <= query; ++p) {
            double dot = 0;
            for (std::size_t d = head * size; d < (head + 1) * size; ++d) {
                dot += qkv[query][d] * qkv[p][shape.width + d];
            }
            weights[p] = std::exp(dot / std::sqrt(static_cast<double>(size)));
            sum += weights[p];
        }
        for (std::size_t p = 0; p <= query; ++p) {
            for (std::size_t d = head * size; d < (head + 1) * size; ++d) {
                out[d] += weights[p] / sum * qkv[p][2 * std::size_t{shape.width} + d];
            }
        }
    }
    return out;
}

void add(Vector& to, const Vector& change) {
    std::ranges::transform(to, change, to.begin(), std::plus());
}

}  // namespace

std::vector<double> plain_decoder_scores(const DecoderShape& shape, const DecoderWeights& weights,
                                         std::span<const std::uint32_t> tokens) {
    std::vector<Vector> x(tokens.size(), Vector(shape.width));
    for (std::size_t p = 0; p < tokens.size(); ++p) {
        for (std::size_t i = 0; i < shape.width; ++i) {
            x[p][i] = static_cast<double>(weights.tokens[tokens[p] * shape.width + i]) +
                      static_cast<double>(weights.positions[p * shape.width + i]);
        }
    }
    for (const DecoderBlockWeights& block : weights.blocks) {
        std::vector<Vector> qkv;
        for (const Vector& row : x) {
            qkv.push_back(product(normalised(row, block.attention_norm, shape.norm_epsilon), block.attention));
        }
        for (std::size_t p = 0; p < x.size(); ++p) {
            add(x[p], product(attended(shape, qkv, p), block.projection));
            Vector inner = product(normalised(x[p], block.inner_norm, shape.norm_epsilon), block.expansion);
            std::ranges::transform(inner, inner.begin(), gelu);
            add(x[p], product(inner, block.contraction));
        }
    }
    const Vector last = normalised(x.back(), weights.last_norm, shape.norm_epsilon);
    Vector scores(shape.vocabulary);
    for (std::size_t token = 0; token < shape.vocabulary; ++token) {
        for (std::size_t i = 0; i < shape.width; ++i) {
            scores[token] += last[i] * static_cast<double>(weights.tokens[token * shape.width + i]);
        }
    }
    return scores;
}

RandomDecoder::RandomDecoder(const DecoderShape& shape, std::uint32_t seed) : shape_(shape) {
    std::mt19937 engine(seed);
    const auto tensor = [&](std::size_t size, float mean, float deviation) {
        std::normal_distribution<float> draw(mean, deviation);
        std::vector<float>& values = tensors_.emplace_back(size);
        std::ranges::generate(values, [&] { return draw(engine); });
    };
    const std::size_t width = shape.width;
    const auto matrix = [&](std::size_t inputs, std::size_t outputs) {
        tensor(inputs * outputs, 0, 1.5F / std::sqrt(static_cast<float>(inputs)));
        tensor(outputs, 0, 0.1F);
    };
    const auto norm = [&] {
        tensor(width, 1, 0.2F);
        tensor(width, 0, 0.2F);
    };
    tensor(shape.vocabulary * width, 0, 0.3F);
    tensor(shape.positions * width, 0, 0.3F);
    norm();
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
        norm();
        matrix(width, 3 * width);
        matrix(width, width);
        norm();
        matrix(width, shape.inner);
        matrix(shape.inner, width);
    }
}

namespace {

constexpr std::size_t before_blocks = 4;
constexpr std::size_t of_block = 12;
constexpr std::size_t inner_bias = 9;

}  // namespace

void RandomDecoder::set_inner_bias(std::uint32_t at, float bias) {
    tensors_[before_blocks + inner_bias][at] = bias;
}

DecoderWeights RandomDecoder::weights() const {
    DecoderWeights weights{.tokens = tensors_[0], .positions = tensors_[1], .last_norm = {tensors_[2], tensors_[3]}};
    for (std::size_t i = before_blocks; i < tensors_.size(); i += of_block) {
        const auto* const t = &tensors_[i];
        weights.blocks.push_back(
            {{t[0], t[1]}, {t[2], t[3]}, {t[4], t[5]}, {t[6], t[7]}, {t[8], t[9]}, {t[10], t[11]}});
    }
    return weights;
}

}  // namespace sluice::test
