#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace sluice {

/// The error of a fast model's scores against an exact model's, calibrated on items that both have scored.
struct Margin {
    std::vector<float> offsets;  ///< (classes) Mean of exact - fast scores, to be added to the fast ones.
    /// The fast label is certain if the best of the fast scores, with offsets, leads the second by at least
    /// bound * (usual + the largest magnitude of the scores): larger scores err by more. Infinite: nothing is certain.
    float bound = std::numeric_limits<float>::infinity();
    float usual = 0;  ///< The scores' root mean square.
};

/// With fewer items the bound is infinite.
inline constexpr std::size_t fewest_margin_items = 256;

inline constexpr double margin_deviations = 6;

/// Takes the error of the difference of two classes' scores, relative to the scores' size as above. The bound is the
/// larger of its maximum over items and pairs, and margin_deviations standard deviations for the pair with the most.
/// A label called certain is wrong only where an item errs by more, in that direction, and has no larger gap.
/// fast, exact: (items, classes). A score that is not finite makes the bound infinite, and so do fast scores that are 0
/// with their offsets where the exact ones differ.
[[nodiscard]] Margin calibrate_margin(std::span<const float> fast, std::span<const float> exact, std::size_t classes);

}  // namespace sluice
