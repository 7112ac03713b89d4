#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/modes.hpp"

namespace sluice {

/// Numbers that represent a value in convolutions. For tf32x3 two: the value rounded to tf32, and the remainder rounded
/// to tf32. Their sum has at least 22 bits.
[[nodiscard]] constexpr std::uint32_t parts_of(Precision precision) noexcept {
    return precision == Precision::tf32x3 ? 2 : 1;
}

[[nodiscard]] constexpr std::size_t number_bytes(Precision precision) noexcept {
    return precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
}

/// Bytes of one value, all parts.
[[nodiscard]] constexpr std::size_t element_bytes(Precision precision) noexcept {
    return number_bytes(precision) * parts_of(precision);
}

/// Whether a decoder's factors are two values of 16 bits, or one and two codes; by wgmma only.
[[nodiscard]] constexpr bool has_parts(Precision precision) noexcept {
    return precision == Precision::tf32x3 || precision == Precision::fp16x2;
}

/// Precision of values that are not inputs of convolutions: other layers' weights, and activations between those.
[[nodiscard]] constexpr Precision in_one_part(Precision precision) noexcept {
    return has_parts(precision) ? Precision::fp32 : precision;
}

/// Precision of what is stored besides the factors of products.
[[nodiscard]] constexpr Precision values_in(Precision precision) noexcept {
    return precision == Precision::fp8 ? Precision::bf16 : precision;
}

/// Encodes `values`, rows of `row`, in `precision`, rounded to nearest even. In two parts, a row's first parts precede
/// all its second ones. Throws Error (numeric) for a finite value beyond fp16's range.
[[nodiscard]] std::vector<std::byte> encode(Precision precision, std::span<const float> values, std::size_t row = 1);

/// The reverse, exact.
[[nodiscard]] std::vector<float> decode(Precision precision, std::span<const std::byte> bytes, std::size_t row = 1);

}  // namespace sluice
