#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/host/aligned.hpp"

namespace sluice {

/// (y - mean) * scale is y normalised.
struct NormScale {
    float mean = 0;
    float scale = 1;
};

[[nodiscard]] NormScale norm_scale(double mean, double variance);

/// (channels, positions) as it comes in files to (positions, channels).
[[nodiscard]] AlignedVector<float> transposed(std::span<const float> values, std::size_t channels,
                                              std::size_t positions);

/// Four packs of channels a step keep the vector units busy.
constexpr std::uint32_t channels_a_step = 64;

}  // namespace sluice
