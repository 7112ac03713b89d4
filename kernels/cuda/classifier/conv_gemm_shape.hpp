#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// (items, length, channels) -> (items, positions / pool, outputs), channels-last, positions = length - taps + 1:
/// y[p][o] = bias[o] + sum over i and k of weights[o][i][k] * in[p + k][i]; then max(0, y) if relu; then the maximum of
/// each `pool` positions.
struct ConvGemmShape {
    std::uint32_t length;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t outputs;   ///< A multiple of 256, at most 1024; by mma.sync a multiple of 128.
    std::uint32_t taps;      ///< At most 9, and 7 with pooling; by mma.sync 77 and 109.
    bool relu = false;
    std::uint32_t pool = 1;  ///< 1 or 3; 3 divides length and positions.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// Packs PyTorch's weights, (outputs, channels, taps), in the kernels' layout and number format: (outputs, taps,
/// channels), tf32x3: (outputs, taps, 2, channels). For Precision::fp32: (taps, channels, outputs).
[[nodiscard]] std::vector<std::byte> pack_conv_weights(const ConvGemmShape& shape, Precision precision,
                                                       std::span<const float> weights);

/// Device memory of one convolution; not owned. All aligned to 128 bytes. For tf32x3, rows of channels or outputs are
/// in two parts: see encode().
struct ConvGemmMemory {
    const void* in;       ///< (items, length, channels)
    const void* weights;  ///< pack_conv_weights()
    const float* bias;    ///< (outputs)
    void* out;            ///< (items, positions / pool, outputs)
};

}  // namespace sluice
