#pragma once

#include <cstdint>

namespace sluice {

/// Which parts of its factors a convolution multiplies, in pieces of their channels. Values in two parts, x = a + b and
/// w = c + d, take three of the four products: b * c, then a * d, then a * c. Small ones come first because the tensor
/// cores truncate sums, the larger the more; b * d is negligible. Ootomo and Yokota 2022.
template <bool in_two>
class ConvParts {
public:
    /// `part_pieces`: pieces in one part of a row.
    constexpr explicit ConvParts(std::uint32_t part_pieces) noexcept : part_(part_pieces) {}

    [[nodiscard]] constexpr std::uint32_t pieces() const noexcept { return in_two ? 3 * part_ : part_; }
    /// Pieces in a row, all parts.
    [[nodiscard]] constexpr std::uint32_t row_pieces() const noexcept { return in_two ? 2 * part_ : part_; }
    /// Index in a row of the input of the piece that is multiplied as number `piece`.
    [[nodiscard]] constexpr std::uint32_t input(std::uint32_t piece) const noexcept {
        if (!in_two) {
            return piece;
        }
        return piece < part_ ? piece + part_ : piece < 2 * part_ ? piece - part_ : piece - 2 * part_;
    }
    /// The same for the weights.
    [[nodiscard]] constexpr std::uint32_t weights(std::uint32_t piece) const noexcept {
        return in_two && piece >= 2 * part_ ? piece - 2 * part_ : piece;
    }

private:
    std::uint32_t part_;
};

}  // namespace sluice
