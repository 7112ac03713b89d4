#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// On GPUs, activations of convolutions have a multiple of this many channels, as the kernels' tiles require: the
/// model's, then zeros.
inline constexpr std::uint32_t channel_multiple = 256;

[[nodiscard]] constexpr std::uint32_t padded_channels(std::uint32_t channels) {
    return (channels + channel_multiple - 1) / channel_multiple * channel_multiple;
}

/// (outer, channels, inner) to (outer, padded_channels(channels), inner), with zeros after the channels.
[[nodiscard]] std::vector<float> pad_channels(std::span<const float> values, std::size_t outer, std::uint32_t channels,
                                              std::size_t inner);

}  // namespace sluice
