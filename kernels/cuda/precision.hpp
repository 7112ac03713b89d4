#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/modes.hpp"

namespace sluice {

/// Numbers that a value is kept as where convolutions multiply it. For tf32x3 those are two: what tf32 keeps of the
/// value, and what tf32 keeps of the rest. Their sum has 22 bits at least.
[[nodiscard]] constexpr std::uint32_t parts_of(Precision precision) noexcept {
    return precision == Precision::tf32x3 ? 2 : 1;
}

[[nodiscard]] constexpr std::size_t number_bytes(Precision precision) noexcept {
    return precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
}

/// Of one value.
[[nodiscard]] constexpr std::size_t element_bytes(Precision precision) noexcept {
    return number_bytes(precision) * parts_of(precision);
}

/// That of what convolutions do not multiply: weights of other layers, and what lies between those.
[[nodiscard]] constexpr Precision in_one_part(Precision precision) noexcept {
    return precision == Precision::tf32x3 ? Precision::fp32 : precision;
}

/// `values`, rows of `row`, in the bits of `precision`, rounded to the nearest, halves to even. Of a row in two parts
/// all first ones come before all second ones. Throws Error (numeric) for a finite value that fp16 has no room for.
[[nodiscard]] std::vector<std::byte> encode(Precision precision, std::span<const float> values, std::size_t row = 1);

/// The reverse, exact.
[[nodiscard]] std::vector<float> decode(Precision precision, std::span<const std::byte> bytes, std::size_t row = 1);

}  // namespace sluice
