#pragma once

#include <cstdint>

namespace sluice {

/// A run of consecutive items: the unit of transfer, compute and failure. Chunk `id` starts at item `first`.
struct Chunk {
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint32_t count = 0;  ///< 0: the input has ended.

    [[nodiscard]] bool end_of_input() const noexcept { return count == 0; }
    friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Bytes of one item on the wire, in and out.
struct IoShape {
    std::uint32_t input_bytes = 0;
    std::uint32_t output_bytes = 0;
    friend bool operator==(const IoShape&, const IoShape&) = default;
};

}  // namespace sluice
