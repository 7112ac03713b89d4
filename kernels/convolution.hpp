#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/interface.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/operation.hpp"

namespace sluice {

/// A convolution over one-hot columns, given as symbol ids, with norm, ReLU and pooling: (items, length) uint8 ->
/// (items, positions / pool, channels) fp32, positions = length - taps + 1.
struct SymbolConvShape {
    std::uint32_t length;   ///< Symbols in an item.
    std::uint32_t symbols;  ///< Symbol ids are 0 … symbols; `symbols` itself is the blank, an all-zero column.
    std::uint32_t taps;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t pool;      ///< Divides positions.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// (items, length, in_channels) fp32 -> (items, positions / pool, out_channels) fp32, positions = length - taps + 1.
struct Conv1dShape {
    std::uint32_t length;
    std::uint32_t in_channels;
    std::uint32_t out_channels;
    std::uint32_t taps;
    bool relu = false;
    std::uint32_t pool = 1;  ///< Divides positions; max pooling with this stride and width.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// (items, positions, channels) fp32 -> (items, positions / pool, channels) fp32.
struct NormShape {
    std::uint32_t positions;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t pool;      ///< Divides positions.
};

inline constexpr double norm_epsilon = 1e-5;  ///< Inside the root.

/// Convolutions and their norms, in one backend and precision. Activations are channels-last. In tf32x3 convolutions
/// read and write each value as two parts; norm_relu_pool reads those and writes what dense layers read.
class ConvolutionKernels : public Interface {
public:
    /// y[p][c] = bias[c] + sum over k of weights[c][in[p + k]][k]  (nothing where in[p + k] is the blank);
    /// n = gamma[c][p] * (y[p][c] - mean) / sqrt(variance + norm_epsilon) + beta[c][p], with mean and biased variance
    /// over all p and c of the item; out[q][c] = max(0, max over the `pool` positions p of q of n[p][c]).
    /// Zhang et al. 2015, section 2.1; Ba et al. 2016, section 3.
    /// weights: (channels, symbols, taps), bias: (channels), gamma, beta: (channels, positions).
    [[nodiscard]] virtual std::unique_ptr<Layer> symbol_conv_norm_relu_pool(
        const SymbolConvShape& shape, std::span<const float> weights, std::span<const float> bias,
        std::span<const float> gamma, std::span<const float> beta, PackedWeights& packed) const = 0;

    /// y[p][o] = bias[o] + sum over i and k of weights[o][i][k] * in[p + k][i]; then max(0, y) if relu; then the
    /// maximum of each `pool` positions. weights: (out_channels, in_channels, taps), bias: (out_channels).
    [[nodiscard]] virtual std::unique_ptr<Layer> conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                                        std::span<const float> bias, PackedWeights& packed) const = 0;

    /// The norm, ReLU and pooling of symbol_conv_norm_relu_pool, with y = in. gamma, beta: (channels, positions).
    [[nodiscard]] virtual std::unique_ptr<Layer> norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                                                std::span<const float> beta,
                                                                PackedWeights& packed) const = 0;
};

}  // namespace sluice
