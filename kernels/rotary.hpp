#pragma once

#include <cstdint>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice {

/// Rotary embedding table of a decoder: (positions, 2, head size / 2), the cosines of a position, then the sines.
/// Bitwise equal on every machine; all backends use it, so that they agree.
[[nodiscard]] std::vector<float> rotary_table(const DecoderShape& shape);

/// Its size in floats; 0 without rotary positions.
[[nodiscard]] constexpr std::size_t rotary_floats(const DecoderShape& shape) {
    return shape.rotary ? std::size_t{shape.positions} * shape.size_of_head() : 0;
}

/// The decoder for texts of up to `positions`: a rotary table is cut to these.
[[nodiscard]] DecoderShape shape_for_texts(const DecoderShape& shape, std::uint64_t positions);

}  // namespace sluice
