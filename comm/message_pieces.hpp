#pragma once

#include <algorithm>
#include <cstddef>

namespace sluice {

/// MPI counts are ints and very large messages are where MPI libraries differ: nothing larger is sent in one piece.
inline constexpr std::size_t largest_message = std::size_t{64} << 20U;

/// Pieces that a message of up to `bytes` is sent in: one at least, so that an empty message exists too.
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
