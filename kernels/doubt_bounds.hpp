#pragma once

#include <cstddef>
#include <span>

#include "kernels/generator.hpp"
#include "kernels/margin.hpp"

namespace sluice {

/// The doubts of a text (of a decoder: a choice) that a fast and an exact writer made alike.
struct SeenDoubts {
    TextDoubt fast;
    TextDoubt exact;
};

/// Bounds for a fast writer's doubts: a text is certain if its distance and its gap both reach them. Each bound is the
/// larger of the maximum difference between fast and exact measure in `seen`, and margin_deviations times the root mean
/// square of the differences. A text called certain is wrong only where the fast one errs by more: empirical, not
/// proved. Infinite, which only infinite measures reach, if fewer than fewest_margin_items differences are finite.
///
/// `differing`: the fast writer's doubts of texts (of a decoder: choices) that the two made differently. Where one
/// would be certain, the bounds are raised above its finite measures.
[[nodiscard]] TextDoubt calibrate_doubts(std::span<const SeenDoubts> seen, std::span<const TextDoubt> differing = {});

}  // namespace sluice
