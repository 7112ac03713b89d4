#pragma once

#include <cstddef>
#include <span>

#include "core/weights/packed_weights.hpp"
#include "core/weights/weight_values.hpp"

namespace sluice {

/// Reserves space for a copy of `values`, in fp32.
[[nodiscard]] PackedWeights::Room reserve_copy(PackedWeights& packed, const WeightValues& values);

/// Reserves space for (positions, channels), transposed from (channels, positions), the order in files.
[[nodiscard]] PackedWeights::Room reserve_transposed(PackedWeights& packed, std::span<const float> values,
                                                     std::size_t channels, std::size_t positions);

}  // namespace sluice
