#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

/// (y - mean) * scale is y normalised.
struct NormScale {
    float mean = 0;
    float scale = 1;
};

[[nodiscard]] NormScale norm_scale(double mean, double variance);

/// Four packs of channels per step keep the vector units busy.
constexpr std::uint32_t channels_per_step = 64;

}  // namespace sluice
