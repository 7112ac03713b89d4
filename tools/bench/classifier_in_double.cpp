#include <algorithm>
#include <cmath>

#include "tools/bench/classifier_on_gpu.hpp"

namespace sluice::bench {
namespace {

using Values = std::vector<double>;  // (positions, channels)

double plus_relu(double value, bool relu) {
    return relu ? std::max(value, 0.0) : value;
}

Values pooled(const Values& in, std::size_t channels, std::size_t pool) {
    Values out(in.size() / pool, -INFINITY);
    for (std::size_t i = 0; i < in.size(); ++i) {
        double& to = out[i / channels / pool * channels + i % channels];
        to = std::max(to, in[i]);
    }
    return out;
}

Values normed(const Values& in, std::size_t channels, const std::vector<float>& gamma, const std::vector<float>& beta) {
    double sum = 0;
    for (const double x : in) {
        sum += x;
    }
    const double mean = sum / static_cast<double>(in.size());
    double squares = 0;
    for (const double x : in) {
        squares += (x - mean) * (x - mean);
    }
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(in.size()) + 1e-5);
    const std::size_t positions = in.size() / channels;
    Values out(in.size());
    for (std::size_t p = 0; p < positions; ++p) {
        for (std::size_t c = 0; c < channels; ++c) {
            const std::size_t at = c * positions + p;
            out[p * channels + c] =
                std::max(0.0, (in[p * channels + c] - mean) * scale * static_cast<double>(gamma[at]) +
                                  static_cast<double>(beta[at]));
        }
    }
    return out;
}

Values convolved(const Values& in, const ConvGemmShape& shape, const ClassifierTensors::Layer& layer) {
    const std::size_t channels = shape.channels;
    const std::size_t outputs = shape.outputs;
    Values weights(layer.weights.size());  // (taps, channels, outputs)
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::size_t o = i / shape.taps / channels;
        weights[(i % shape.taps * channels + i / shape.taps % channels) * outputs + o] =
            static_cast<double>(layer.weights[i]);
    }
    Values out(shape.positions() * outputs);
    for (std::size_t p = 0; p < shape.positions(); ++p) {
        double* y = &out[p * outputs];
        std::copy(layer.bias.begin(), layer.bias.end(), y);
        for (std::size_t k = 0; k < shape.taps * channels; ++k) {
            const double x = in[p * channels + k];
            if (x != 0) {
                for (std::size_t o = 0; o < outputs; ++o) {
                    y[o] += x * weights[k * outputs + o];
                }
            }
        }
        for (std::size_t o = 0; o < outputs; ++o) {
            y[o] = plus_relu(y[o], shape.relu);
        }
    }
    return shape.pool == 1 ? out : pooled(out, outputs, shape.pool);
}

Values linear(const Values& in, const ClassifierTensors::Layer& layer, bool relu) {
    Values out(layer.bias.begin(), layer.bias.end());
    for (std::size_t o = 0; o < out.size(); ++o) {
        for (std::size_t i = 0; i < in.size(); ++i) {
            out[o] += static_cast<double>(layer.weights[o * in.size() + i]) * in[i];
        }
        out[o] = plus_relu(out[o], relu);
    }
    return out;
}

}  // namespace

Verdict classify_in_double(const ClassifierTensors& t, std::span<const std::uint8_t> symbols) {
    Values x(std::size_t{conv1.positions()} * filters);
    for (std::size_t p = 0; p < conv1.positions(); ++p) {
        for (std::size_t o = 0; o < filters; ++o) {
            double sum = static_cast<double>(t.conv[0].bias[o]);
            for (std::size_t k = 0; k < conv1.taps; ++k) {
                const std::size_t s = symbols[p + k];
                if (s < conv1.symbols) {
                    sum += static_cast<double>(t.conv[0].weights[(o * conv1.symbols + s) * conv1.taps + k]);
                }
            }
            x[p * filters + o] = sum;
        }
    }
    x = pooled(normed(x, filters, t.gamma1, t.beta1), filters, SymbolConvGpuShape::pool);
    const ConvGemmShape shapes[] = {conv2, conv3, conv4, conv5, conv6};
    for (std::size_t i = 0; i < 5; ++i) {
        x = convolved(x, shapes[i], t.conv[i + 1]);
    }
    x = pooled(normed(x, filters, t.gamma6, t.beta6), filters, NormPoolShape::pool);
    Values flat(x.size());  // (channels, positions), like the weights
    for (std::size_t i = 0; i < x.size(); ++i) {
        flat[i % filters * last_positions + i / filters] = x[i];
    }
    const Values scores = linear(linear(linear(flat, t.fc[0], true), t.fc[1], true), t.fc[2], false);
    Verdict verdict{};
    std::copy(scores.begin(), scores.end(), verdict.scores);
    verdict.label = static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    return verdict;
}

}  // namespace sluice::bench
