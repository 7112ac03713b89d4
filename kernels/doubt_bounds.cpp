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

}  // namespace

TextDoubt calibrate_doubts(std::span<const SeenDoubts> seen) {
    return {.distance = calibrate(seen, &TextDoubt::distance), .gap = calibrate(seen, &TextDoubt::gap)};
}

}  // namespace sluice
