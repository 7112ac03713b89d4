#include "kernels/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace sluice {
namespace {

// Functions of long double give the same results on every CPU; those of double have variants with fused multiply-adds.
using Exact = long double;

Exact stretched(Exact frequency, const RotaryStretch& stretch) {
    const Exact waves = static_cast<Exact>(stretch.original_positions) * frequency / (2 * std::numbers::pi_v<Exact>);
    const Exact low = stretch.low_frequency;
    const Exact high = stretch.high_frequency;
    const Exact kept = std::clamp<Exact>((waves - low) / (high - low), 0, 1);
    return frequency * (kept + (1 - kept) / static_cast<Exact>(stretch.factor));
}

}  // namespace

std::vector<float> rotary_table(const DecoderShape& shape) {
    const RotaryPositions& rotary = shape.rotary.value();
    const std::uint32_t half = shape.size_of_head() / 2;
    std::vector<Exact> frequencies(half);
    for (std::uint32_t i = 0; i < half; ++i) {
        const Exact frequency = std::pow(static_cast<Exact>(rotary.base), -static_cast<Exact>(i) / half);
        frequencies[i] = rotary.stretch.factor == 1 ? frequency : stretched(frequency, rotary.stretch);
    }
    std::vector<float> table(rotary_floats(shape));
    for (std::uint32_t position = 0; position < shape.positions; ++position) {
        float* const cosines = &table[std::size_t{position} * 2 * half];
        for (std::uint32_t i = 0; i < half; ++i) {
            const Exact angle = frequencies[i] * position;
            cosines[i] = static_cast<float>(std::cos(angle));
            cosines[half + i] = static_cast<float>(std::sin(angle));
        }
    }
    return table;
}

DecoderShape shape_for_texts(const DecoderShape& shape, std::uint64_t positions) {
    expects(positions <= shape.positions, "decoder: prompt and continuation have as many positions as the model");
    expects(!shape.rotary || shape.size_of_head() % 2 == 0, "decoder: rotary positions turn heads of an even size");
    DecoderShape kept = shape;
    if (shape.rotary) {
        kept.positions = static_cast<std::uint32_t>(positions);
    }
    return kept;
}

}  // namespace sluice
