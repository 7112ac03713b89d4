#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace sluice {

/// Longer messages are split: MPI counts are ints, and MPI libraries differ on very large messages.
inline constexpr std::size_t largest_message = std::size_t{64} << 20U;

/// Number of pieces of a message of up to `bytes`; at least one, so that empty messages exist.
[[nodiscard]] constexpr std::size_t piece_count(std::size_t bytes, std::size_t largest) noexcept {
    return std::max<std::size_t>(1, (bytes + largest - 1) / largest);
}

/// Piece `index` of a message; empty past its end.
template <class Byte>
[[nodiscard]] constexpr std::span<Byte> piece_at(std::span<Byte> message, std::size_t largest,
                                                 std::size_t index) noexcept {
    const std::size_t offset = std::min(message.size(), index * largest);
    return message.subspan(offset, std::min(largest, message.size() - offset));
}

}  // namespace sluice
