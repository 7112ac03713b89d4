#pragma once

#include <cstdint>

namespace sluice {

/// Which parts of its factors a convolution multiplies, in pieces of their channels. Values in two parts, x = a + b and
/// w = c + d, take three of the four products: b * c, then a * d, then a * c. Small ones come first because the tensor
/// cores cut sums off, the larger the sum the more; b * d is too small to count. Ootomo and Yokota 2022.
template <bool in_two>
class ConvParts {
public:
    /// `part_pieces`: of one part of a row.
    constexpr explicit ConvParts(std::uint32_t part_pieces) noexcept : part_(part_pieces) {}

    [[nodiscard]] constexpr std::uint32_t pieces() const noexcept { return in_two ? 3 * part_ : part_; }
    /// Of a row, both parts.
    [[nodiscard]] constexpr std::uint32_t row_pieces() const noexcept { return in_two ? 2 * part_ : part_; }
    /// In a row of the input, the piece that is multiplied as number `piece`.
    [[nodiscard]] constexpr std::uint32_t input(std::uint32_t piece) const noexcept {
        if (!in_two) {
            return piece;
        }
        return piece < part_ ? piece + part_ : piece < 2 * part_ ? piece - part_ : piece - 2 * part_;
    }
    /// Likewise of the weights.
    [[nodiscard]] constexpr std::uint32_t weights(std::uint32_t piece) const noexcept {
        return in_two && piece >= 2 * part_ ? piece - 2 * part_ : piece;
    }

private:
    std::uint32_t part_;
};

}  // namespace sluice
