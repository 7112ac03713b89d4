#pragma once

#include <cstdint>

namespace sluice::symbol_conv {

inline constexpr std::uint32_t most_length = 4096;  ///< Symbols of an item; each warp holds one item in shared memory.

/// Sets the statistics kernel's dynamic shared memory for items of this length, at most `block_shared_bytes`.
void allow_statistics(std::uint32_t length, std::uint32_t block_shared_bytes);

}  // namespace sluice::symbol_conv
