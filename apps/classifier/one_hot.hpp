#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice::classifier {

/// Packs fp32 one-hot columns, (symbols, columns) row-major, to one symbol id per column; an all-zero column becomes
/// `symbols`. symbols <= 255; ids.size() columns. Returns what is wrong with the first bad column, or an empty string.
[[nodiscard]] std::string pack_one_hot(std::span<const float> one_hot, std::uint32_t symbols,
                                       std::span<std::uint8_t> ids);

}  // namespace sluice::classifier
