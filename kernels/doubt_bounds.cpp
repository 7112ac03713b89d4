#include "kernels/doubt_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

float calibrate(std::span<const SeenDoubts> seen, float TextDoubt::*measure) {
    std::size_t count = 0;
    double squares = 0;
    double worst = 0;
    for (const SeenDoubts& one : seen) {
        const double error = std::abs(static_cast<double>(one.fast.*measure) - static_cast<double>(one.exact.*measure));
        if (std::isfinite(error)) {
            ++count;
            squares += error * error;
            worst = std::max(worst, error);
        }
    }
    if (count < fewest_margin_items) {
        return TextDoubt::none;
    }
    return static_cast<float>(std::max(worst, margin_deviations * std::sqrt(squares / static_cast<double>(count))));
}

/// The next larger float; 0, which raises no bound, if `measure` is not finite.
float above(float measure) {
    return std::isfinite(measure) ? std::nextafter(measure, TextDoubt::none) : 0;
}

}  // namespace

TextDoubt calibrate_doubts(std::span<const SeenDoubts> seen, std::span<const TextDoubt> differing) {
    TextDoubt bounds{.distance = calibrate(seen, &TextDoubt::distance), .gap = calibrate(seen, &TextDoubt::gap)};
    for (const TextDoubt& wrong : differing) {
        if (wrong.distance >= bounds.distance && wrong.gap >= bounds.gap) {
            bounds.distance = std::max(bounds.distance, above(wrong.distance));
            bounds.gap = std::max(bounds.gap, above(wrong.gap));
        }
    }
    return bounds;
}

}  // namespace sluice
