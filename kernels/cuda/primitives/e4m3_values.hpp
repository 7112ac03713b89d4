#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// e4m3: a sign, four bits of exponent, three of mantissa; up to 448, without infinities (Micikevicius et al. 2022).
namespace sluice {

inline constexpr float largest_e4m3 = 448;

/// Rounds values times `scale` to nearest even, beyond 448 to 448; NaN stays NaN. Writes as many bytes as there are
/// values.
void encode_e4m3(std::span<const float> values, float scale, std::span<std::byte> to);

/// The greatest power of two, at most 2^64, that times `bound` is no more than 448. `bound` is finite and not
/// negative.
[[nodiscard]] float e4m3_scale_for(double bound);

}  // namespace sluice
