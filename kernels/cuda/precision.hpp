#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// How activations and weights are kept and multiplied. Sums are fp32 in all of them.
enum class Precision : std::uint8_t {
    fp32,  ///< IEEE single throughout.
    tf32,  ///< Kept as fp32 rounded to 10 bits of mantissa, multiplied by the tensor cores.
    bf16,
};

[[nodiscard]] constexpr std::size_t element_bytes(Precision precision) noexcept {
    return precision == Precision::bf16 ? 2 : 4;
}

/// `values` in the bits of `precision`, rounded to the nearest, halves to even.
[[nodiscard]] std::vector<std::byte> encode(Precision precision, std::span<const float> values);

/// The reverse, exact.
[[nodiscard]] std::vector<float> decode(Precision precision, std::span<const std::byte> bytes);

}  // namespace sluice
