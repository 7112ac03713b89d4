#include "tests/support/decoder_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <iterator>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

#include "core/input/half.hpp"

namespace sluice::test {
namespace {

using Doubles = std::vector<double>;

Doubles normalised(const DecoderShape& shape, const Doubles& x, const DecoderNorm& norm) {
    double mean = 0;
    if (shape.normalisation == DecoderNormalisation::layer) {
        for (const double value : x) {
            mean += value / static_cast<double>(x.size());
        }
    }
    double variance = 0;
    for (const double value : x) {
        variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
    }
    Doubles y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = (x[i] - mean) / std::sqrt(variance + static_cast<double>(shape.norm_epsilon)) *
                   static_cast<double>(norm.gamma[i]) +
               (norm.beta.empty() ? 0 : static_cast<double>(norm.beta[i]));
    }
    return y;
}

Doubles product(const Doubles& x, const DecoderLinear& linear) {
    const std::size_t outputs = linear.weights.size() / x.size();
    Doubles y(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
        y[o] = linear.bias.empty() ? 0 : static_cast<double>(linear.bias[o]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t o = 0; o < outputs; ++o) {
            const std::size_t at = linear.order == MatrixOrder::by_outputs ? o * x.size() + i : i * outputs + o;
            y[o] += x[i] * static_cast<double>(linear.weights[at]);
        }
    }
    return y;
}

double in_four_bits(double value) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);  // 0.5 to 1
    return std::ldexp(std::nearbyint(mantissa * 16) / 16, exponent);
}

void round_to_four_bits(Doubles& values) {
    std::ranges::transform(values, values.begin(), in_four_bits);
}

/// A product of normalised rows.
class NormedProduct {
public:
    NormedProduct(const DecoderShape& shape, const DecoderNorm& norm, const DecoderLinear& linear, PlainFactors factors)
        : shape_(shape),
          norm_(norm),
          linear_(linear),
          rounds_(factors == PlainFactors::four_bits),
          ones_(shape.width, 1) {
        const std::size_t inputs = shape.width;
        const std::size_t outputs = linear.weights.size() / inputs;
        for (std::size_t o = 0; rounds_ && o < outputs; ++o) {
            Doubles& row = weights_.emplace_back(inputs);
            for (std::size_t i = 0; i < inputs; ++i) {
                const std::size_t at = linear.order == MatrixOrder::by_outputs ? o * inputs + i : i * outputs + o;
                row[i] = static_cast<double>(linear.weights[at]) * static_cast<double>(norm.gamma[i]);
            }
            const double mean = shape.normalisation == DecoderNormalisation::layer
                                    ? std::reduce(row.begin(), row.end()) / static_cast<double>(inputs)
                                    : 0;
            std::ranges::transform(row, row.begin(), [&](double value) { return in_four_bits(value - mean); });
        }
    }

    [[nodiscard]] Doubles operator()(const Doubles& x) const {
        if (!rounds_) {
            return product(normalised(shape_, x, norm_), linear_);
        }
        Doubles row = normalised(shape_, x, {.gamma = ones_});
        round_to_four_bits(row);
        const std::vector<float> shift = norm_.beta.floats();
        Doubles beta(shift.begin(), shift.end());
        beta.resize(x.size());
        Doubles y = product(beta, linear_);
        for (std::size_t o = 0; o < y.size(); ++o) {
            y[o] = std::inner_product(row.begin(), row.end(), weights_[o].begin(), y[o]);
        }
        return y;
    }

private:
    const DecoderShape& shape_;
    DecoderNorm norm_;
    DecoderLinear linear_;
    bool rounds_;
    std::vector<float> ones_;
    std::vector<Doubles> weights_;  // rounded, by outputs
};

/// The product of inner values.
class InnerProduct {
public:
    InnerProduct(const DecoderShape& shape, const DecoderLinear& linear, PlainFactors factors)
        : linear_(linear), rounds_(factors == PlainFactors::four_bits && !shape.gated) {
        if (rounds_) {
            std::ranges::transform(linear.weights.floats(), std::back_inserter(weights_), [](float value) {
                return static_cast<float>(in_four_bits(static_cast<double>(value)));
            });
            linear_.weights = weights_;
        }
    }

    [[nodiscard]] Doubles operator()(Doubles inner) const {
        if (rounds_) {
            round_to_four_bits(inner);
        }
        return product(inner, linear_);
    }

private:
    DecoderLinear linear_;
    bool rounds_;
    std::vector<float> weights_{};
};

double activated(DecoderActivation activation, double x) {
    switch (activation) {
        case DecoderActivation::gelu_tanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case DecoderActivation::gelu_erf:
            return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
        default:
            return x / (1 + std::exp(-x));
    }
}

Doubles inner_of(const DecoderShape& shape, const Doubles& expanded) {
    Doubles inner(shape.inner);
    for (std::size_t i = 0; i < shape.inner; ++i) {
        inner[i] = activated(shape.activation, expanded[i]) * (shape.gated ? expanded[shape.inner + i] : 1);
    }
    return inner;
}

double frequency_of(const RotaryPositions& rotary, double share) {
    const double frequency = std::pow(static_cast<double>(rotary.base), -share);
    const double wave = 2 * std::numbers::pi / frequency;
    const auto& [factor, low, high, original] = rotary.stretch;
    if (factor == 1 || wave < static_cast<double>(original / high)) {
        return frequency;
    }
    if (wave > static_cast<double>(original / low)) {
        return frequency / static_cast<double>(factor);
    }
    const double smooth = (static_cast<double>(original) / wave - static_cast<double>(low)) /
                          (static_cast<double>(high) - static_cast<double>(low));
    return (1 - smooth) * frequency / static_cast<double>(factor) + smooth * frequency;
}

/// The heads of queries, or of keys, that begin at `first`, of a position.
void turn(const DecoderShape& shape, Doubles& row, std::size_t first, std::size_t heads, std::size_t position) {
    const std::size_t half = shape.size_of_head() / 2;
    for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t i = 0; i < half; ++i) {
            double& x = row[first + head * 2 * half + i];
            double& y = row[first + head * 2 * half + half + i];
            const double share = static_cast<double>(i) / static_cast<double>(half);
            const auto turned =
                std::complex<double>(x, y) *
                std::polar(1.0, static_cast<double>(position) * frequency_of(shape.rotary.value(), share));
            x = turned.real();
            y = turned.imag();
        }
    }
}

/// What `query`'s position takes from the first `seen` ones. qkv: (positions) of queries, keys, values.
Doubles attended(const DecoderShape& shape, const std::vector<Doubles>& qkv, std::size_t query, std::size_t seen) {
    const std::size_t size = shape.size_of_head();
    const std::size_t queries = shape.heads * size;
    const std::size_t keys = shape.heads_of_keys() * size;
    Doubles out(queries);
    for (std::size_t head = 0; head < shape.heads; ++head) {
        const std::size_t key = queries + head * shape.heads_of_keys() / shape.heads * size;
        Doubles weights(seen);
        double sum = 0;
        for (std::size_t p = 0; p < seen; ++p) {
            double dot = 0;
            for (std::size_t d = 0; d < size; ++d) {
                dot += qkv[query][head * size + d] * qkv[p][key + d];
            }
            weights[p] = std::exp(dot / std::sqrt(static_cast<double>(size)));
            sum += weights[p];
        }
        for (std::size_t p = 0; p < seen; ++p) {
            for (std::size_t d = 0; d < size; ++d) {
                out[head * size + d] += weights[p] / sum * qkv[p][key + keys + d];
            }
        }
    }
    return out;
}

void add(Doubles& to, const Doubles& change) {
    std::ranges::transform(to, change, to.begin(), std::plus());
}

}  // namespace

std::vector<double> plain_decoder_scores(const DecoderShape& shape, const DecoderWeights& weights,
                                         std::span<const std::uint32_t> tokens, std::size_t prompt,
                                         PlainFactors factors) {
    const std::size_t whole = shape.mask == AttentionMask::prefix ? prompt : 0;
    std::vector<Doubles> x(tokens.size(), Doubles(shape.width));
    for (std::size_t p = 0; p < tokens.size(); ++p) {
        for (std::size_t i = 0; i < shape.width; ++i) {
            x[p][i] = static_cast<double>(weights.tokens[tokens[p] * shape.width + i]) +
                      (shape.rotary ? 0 : static_cast<double>(weights.positions[p * shape.width + i]));
        }
    }
    for (const DecoderBlockWeights& block : weights.blocks) {
        const NormedProduct to_queries(shape, block.attention_norm, block.attention, factors);
        const NormedProduct expand(shape, block.inner_norm, block.expansion, factors);
        const InnerProduct contract(shape, block.contraction, factors);
        std::vector<Doubles> qkv;
        for (const Doubles& row : x) {
            qkv.push_back(to_queries(row));
            if (shape.rotary) {
                turn(shape, qkv.back(), 0, shape.heads, qkv.size() - 1);
                turn(shape, qkv.back(), shape.query_width(), shape.heads_of_keys(), qkv.size() - 1);
            }
        }
        for (std::size_t p = 0; p < x.size(); ++p) {
            add(x[p], product(attended(shape, qkv, p, std::max(p + 1, whole)), block.projection));
            add(x[p], contract(inner_of(shape, expand(x[p]))));
        }
    }
    const Doubles last = normalised(shape, x.back(), weights.last_norm);
    const WeightValues& head = weights.head.empty() ? weights.tokens : weights.head;
    Doubles scores(shape.vocabulary);
    for (std::size_t token = 0; token < shape.vocabulary; ++token) {
        for (std::size_t i = 0; i < shape.width; ++i) {
            scores[token] += last[i] * static_cast<double>(head[token * shape.width + i]);
        }
    }
    return scores;
}

RandomDecoder::RandomDecoder(const DecoderShape& shape, std::uint32_t seed, const DecoderParts& parts)
    : shape_(shape), parts_(parts) {
    std::mt19937 engine(seed);
    const auto tensor = [&](std::size_t size, float mean, float deviation) {
        std::normal_distribution<float> draw(mean, deviation);
        std::vector<float>& values = tensors_.emplace_back(size);
        std::ranges::generate(values, [&] { return draw(engine); });
    };
    const std::size_t width = shape.width;
    const auto matrix = [&](std::size_t inputs, std::size_t outputs) {
        tensor(inputs * outputs, 0, 1.5F / std::sqrt(static_cast<float>(inputs)));
        tensor(parts.biases ? outputs : 0, 0, 0.1F);
    };
    const auto norm = [&] {
        tensor(width, 1, 0.2F);
        tensor(parts.biases ? width : 0, 0, 0.2F);
    };
    tensor(shape.vocabulary * width, 0, 0.3F);
    tensor(shape.rotary ? 0 : shape.positions * width, 0, 0.3F);
    norm();
    tensor(parts.own_head ? shape.vocabulary * width : 0, 0, 0.3F);
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
        norm();
        matrix(width, shape.attention_width());
        matrix(shape.query_width(), width);
        norm();
        matrix(width, shape.expanded_width());
        matrix(shape.inner, width);
    }
}

namespace {

constexpr std::size_t before_blocks = 5;
constexpr std::size_t of_block = 12;
constexpr std::size_t inner_bias = 9;

}  // namespace

void RandomDecoder::set_inner_bias(std::uint32_t at, float bias) {
    tensors_[before_blocks + inner_bias][at] = bias;
}

void RandomDecoder::set_embedding(std::uint32_t token, float value) {
    std::fill_n(tensors_[0].begin() + static_cast<std::ptrdiff_t>(std::size_t{token} * shape_.width), shape_.width,
                value);
}

DecoderWeights RandomDecoder::weights() const {
    DecoderWeights weights{
        .tokens = tensors_[0], .positions = tensors_[1], .last_norm = {tensors_[2], tensors_[3]}, .head = tensors_[4]};
    for (std::size_t i = before_blocks; i < tensors_.size(); i += of_block) {
        const auto* const t = &tensors_[i];
        const auto linear = [&](std::size_t at) { return DecoderLinear{t[at], t[at + 1], parts_.order}; };
        weights.blocks.push_back({{t[0], t[1]}, linear(2), linear(4), {t[6], t[7]}, linear(8), linear(10)});
    }
    return weights;
}

namespace {

/// Of all tensors.
std::vector<WeightValues*> values_of(DecoderWeights& weights) {
    std::vector<WeightValues*> all{&weights.tokens, &weights.positions, &weights.head, &weights.last_norm.gamma,
                                   &weights.last_norm.beta};
    for (DecoderBlockWeights& block : weights.blocks) {
        for (DecoderNorm* const norm : {&block.attention_norm, &block.inner_norm}) {
            all.insert(all.end(), {&norm->gamma, &norm->beta});
        }
        for (DecoderLinear* const linear :
             {&block.attention, &block.projection, &block.expansion, &block.contraction}) {
            all.insert(all.end(), {&linear->weights, &linear->bias});
        }
    }
    return all;
}

}  // namespace

ShortWeights::ShortWeights(const DecoderWeights& weights, FloatType type) : short_(weights), wide_(weights) {
    const std::vector<WeightValues*> short_ones = values_of(short_);
    const std::vector<WeightValues*> wide_ones = values_of(wide_);
    shorts_.reserve(short_ones.size());
    floats_.reserve(short_ones.size());
    for (std::size_t i = 0; i < short_ones.size(); ++i) {
        std::vector<float>& floats = floats_.emplace_back(wide_ones[i]->floats());
        std::vector<std::uint16_t>& shorts = shorts_.emplace_back(floats.size());
        std::ranges::transform(floats, shorts.begin(), [type](float value) {
            return type == FloatType::f16 ? half_of(value)
                                          : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
        });
        *short_ones[i] = {type, std::as_bytes(std::span(shorts))};
        short_ones[i]->read(floats.data());
        *wide_ones[i] = floats;
    }
}

std::vector<std::byte> packed_bytes(PackedWeights& packed) {
    NodeMemory memory = NodeMemory::of_process(packed.bytes());
    const std::span<const std::byte> bytes = memory.bytes();
    constexpr std::uint32_t threads = 3;
    packed.pack(std::move(memory), {}, threads);
    return {bytes.begin(), bytes.end()};
}

}  // namespace sluice::test
