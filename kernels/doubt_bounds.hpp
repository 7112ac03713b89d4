#pragma once

#include <cstddef>
#include <span>

#include "kernels/generator.hpp"
#include "kernels/margin.hpp"

namespace sluice {

/// A text, or of a decoder a choice, that a fast writer and an exact one have made alike: how close each came to
/// another.
struct SeenDoubts {
    TextDoubt fast;
    TextDoubt exact;
};

/// How close a fast writer's text may come to another without being what the exact one writes: certain is a text
/// whose distance and gap are both at least the bounds'. Each is the larger of two: the largest difference of the fast
/// and the exact measure that the texts show, and margin_deviations times its root mean square. A text called certain
/// is wrong only where the fast one errs by more. That is experience, not proof. Infinite, which only infinite measures
/// reach, where fewer than fewest_margin_items have a finite one.
///
/// `differing`: of the texts, or of a decoder the choices, that the two have made differently, the fast one's measures.
/// None of them is certain: where it would be, its finite measures raise the bounds above them.
[[nodiscard]] TextDoubt calibrate_doubts(std::span<const SeenDoubts> seen, std::span<const TextDoubt> differing = {});

}  // namespace sluice
