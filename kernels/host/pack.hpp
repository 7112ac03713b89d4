#pragma once

#include <cstddef>
#include <span>

#include "core/packed_weights.hpp"

namespace sluice {

/// Room for `values`, copied as they are.
[[nodiscard]] PackedWeights::Room reserve_copy(PackedWeights& packed, std::span<const float> values);

/// Room for (positions, channels), from (channels, positions) as it comes in files.
[[nodiscard]] PackedWeights::Room reserve_transposed(PackedWeights& packed, std::span<const float> values,
                                                     std::size_t channels, std::size_t positions);

}  // namespace sluice
