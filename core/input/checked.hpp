#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// a * b, or nothing when it does not fit: sizes from files and job files are multiplied by this alone.
[[nodiscard]] inline std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        return std::nullopt;
    }
    return product;
}

/// The product of all `factors`, 1 for none of them.
[[nodiscard]] inline std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> factors) noexcept {
    std::optional<std::uint64_t> product = 1;
    for (const std::uint64_t factor : factors) {
        product = checked_multiply(*product, factor);
        if (!product) {
            return std::nullopt;
        }
    }
    return product;
}

}  // namespace sluice
