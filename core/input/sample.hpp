#pragma once

#include <cstdint>
#include <string>

#include "core/input/item_source.hpp"

namespace sluice {

/// Up to `most` items of `input_bytes` each, in groups spread evenly over the input: the same in every run. As
/// bytes for the way to other ranks.
[[nodiscard]] std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes);

}  // namespace sluice
