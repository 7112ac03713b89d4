#pragma once

#include <cstdint>
#include <vector>

#include "kernels/decoder.hpp"

namespace sluice {

/// What the heads of a decoder with rotary positions are turned by: (positions, 2, head size / 2), the cosines of a
/// position, then the sines. The same bits on every machine. Backends take these, so that theirs agree.
[[nodiscard]] std::vector<float> rotary_table(const DecoderShape& shape);

/// Floats of it.
[[nodiscard]] constexpr std::size_t rotary_floats(const DecoderShape& shape) {
    return shape.rotary ? std::size_t{shape.positions} * shape.size_of_head() : 0;
}

/// The same decoder for texts of up to `positions`: where positions are rotary no others are kept.
[[nodiscard]] DecoderShape shape_for_texts(const DecoderShape& shape, std::uint64_t positions);

}  // namespace sluice
