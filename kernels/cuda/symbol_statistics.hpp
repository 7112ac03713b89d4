#pragma once

#include <cstdint>

namespace sluice::symbol_conv {

inline constexpr std::uint32_t most_length = 4096;  ///< Symbols of an item; each warp has one in shared memory.

/// Lets the statistics' kernel have the shared memory that items of this length need, of `block_shared_bytes`.
void allow_statistics(std::uint32_t length, std::uint32_t block_shared_bytes);

}  // namespace sluice::symbol_conv
