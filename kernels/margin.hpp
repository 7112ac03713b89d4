#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace sluice {

/// How far the scores of a fast model are from those of an exact one, learnt from items that both have scored.
struct Margin {
    std::vector<float> offsets;  ///< (classes) Added to the fast scores: what they are off by on average.
    /// The fast label is the exact one when the best of the fast scores, offsets added, leads the second by at least
    /// bound * (usual + the greatest magnitude of the scores): large scores err by more. Infinite: nothing is certain.
    float bound = std::numeric_limits<float>::infinity();
    float usual = 0;  ///< The scores' root mean square.
};

/// Fewer items than this teach nothing: the bound is infinite.
inline constexpr std::size_t fewest_margin_items = 256;

inline constexpr double margin_deviations = 6;

/// The bound is the larger of two, all of it by the scores' size as above: the largest error of a difference of two
/// scores that the items show; and margin_deviations standard deviations of that error, of the two classes whose
/// difference errs most. A label called certain is wrong only where an item errs by more, in that direction, and has no
/// larger gap. fast, exact: (items, classes). A score that is not finite makes the bound infinite.
[[nodiscard]] Margin calibrate_margin(std::span<const float> fast, std::span<const float> exact, std::size_t classes);

}  // namespace sluice
