#pragma once

#include <algorithm>
#include <cstddef>

namespace sluice {

/// Longer messages are split: MPI counts are ints, and MPI libraries differ on very large messages.
inline constexpr std::size_t largest_message = std::size_t{64} << 20U;

/// Number of pieces of a message of up to `bytes`; at least one, so that empty messages exist.
[[nodiscard]] constexpr std::size_t piece_count(std::size_t bytes, std::size_t largest) noexcept {
    return std::max<std::size_t>(1, (bytes + largest - 1) / largest);
}

/// Calls `visit(offset, count)` for consecutive pieces of `bytes`, none for 0.
template <class Visit>
void for_each_piece(std::size_t bytes, std::size_t largest, Visit visit) {
    for (std::size_t offset = 0; offset < bytes; offset += largest) {
        visit(offset, static_cast<int>(std::min(largest, bytes - offset)));
    }
}

/// Piece `index` of a message of `bytes`; empty past its end.
struct Piece {
    std::size_t offset = 0;
    int count = 0;
};
[[nodiscard]] constexpr Piece piece_at(std::size_t bytes, std::size_t largest, std::size_t index) noexcept {
    const std::size_t offset = std::min(bytes, index * largest);
    return {offset, static_cast<int>(std::min(largest, bytes - offset))};
}

}  // namespace sluice
