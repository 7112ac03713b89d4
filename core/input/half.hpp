#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

// IEEE 754 half precision. As CUDA's conversions on the host, bit for bit, but without branches: loops over them are
// vectorised.

/// To fp16's bits, rounded to nearest even. The value's size is below 65520, from which on it would be infinite.
[[nodiscard]] constexpr std::uint16_t half_of(float value) noexcept {
    constexpr std::uint32_t sign_bit = 0x80000000;
    constexpr std::uint32_t least_normal = 0x38800000;  // 2^-14
    constexpr std::uint32_t exponent_gap = 0x38000000;  // fp32's bias less fp16's
    constexpr std::uint32_t half = 0x3F000000;          // 0.5, whose last bit is fp16's least number
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t size = bits & ~sign_bit;
    const std::uint32_t normal = (size + 0xFFF + ((size >> 13U) & 1U) - exponent_gap) >> 13U;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - half;
    return static_cast<std::uint16_t>((size < least_normal ? subnormal : normal) | (bits & sign_bit) >> 16U);
}

/// From fp16's bits: exact, subnormal numbers and infinity included. A NaN keeps its sign and fraction, unlike CUDA's.
[[nodiscard]] constexpr float float_of_half(std::uint16_t half) noexcept {
    constexpr std::uint32_t least_normal = 0x0400;
    constexpr std::uint32_t infinity = 0x7C00;
    constexpr std::uint32_t exponent_gap = 0x38000000;
    const std::uint32_t size = half & 0x7FFFU;
    const std::uint32_t normal = (size << 13U) + (size < infinity ? exponent_gap : 2 * exponent_gap);
    const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24F);
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    return std::bit_cast<float>((size < least_normal ? subnormal : normal) | sign);
}

}  // namespace sluice
