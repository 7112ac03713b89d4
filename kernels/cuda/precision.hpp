#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/config.hpp"

namespace sluice {

[[nodiscard]] constexpr std::size_t element_bytes(Precision precision) noexcept {
    return precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
}

/// `values` in the bits of `precision`, rounded to the nearest, halves to even. Throws Error (numeric) for a finite
/// value that fp16 has no room for.
[[nodiscard]] std::vector<std::byte> encode(Precision precision, std::span<const float> values);

/// The reverse, exact.
[[nodiscard]] std::vector<float> decode(Precision precision, std::span<const std::byte> bytes);

}  // namespace sluice
