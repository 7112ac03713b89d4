#pragma once

#include <cstddef>
#include <span>

#include "core/weights/packed_weights.hpp"

namespace sluice {

/// Reserves space for a copy of `values`.
[[nodiscard]] PackedWeights::Room reserve_copy(PackedWeights& packed, std::span<const float> values);

/// Reserves space for (positions, channels), transposed from (channels, positions), the order in files.
[[nodiscard]] PackedWeights::Room reserve_transposed(PackedWeights& packed, std::span<const float> values,
                                                     std::size_t channels, std::size_t positions);

}  // namespace sluice
