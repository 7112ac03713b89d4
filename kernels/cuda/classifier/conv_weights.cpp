#include "core/error.hpp"
#include "kernels/cuda/classifier/conv_gemm_shape.hpp"

namespace sluice {

std::vector<std::byte> pack_conv_weights(const ConvGemmShape& shape, Precision precision,
                                         std::span<const float> weights) {
    const std::size_t channels = shape.channels;
    const std::size_t taps = shape.taps;
    const std::size_t outputs = shape.outputs;
    expects(weights.size() == outputs * channels * taps, "convolution: weights of the wrong size");
    std::vector<float> ordered(weights.size());
    for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t c = 0; c < channels; ++c) {
            for (std::size_t k = 0; k < taps; ++k) {
                const std::size_t to =
                    precision == Precision::fp32 ? (k * channels + c) * outputs + o : (o * taps + k) * channels + c;
                ordered[to] = weights[(o * channels + c) * taps + k];
            }
        }
    }
    return encode(precision, ordered, channels);
}

}  // namespace sluice
