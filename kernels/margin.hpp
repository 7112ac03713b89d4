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
    /// this much. Infinite: nothing is certain.
    float bound = std::numeric_limits<float>::infinity();
};

/// Fewer items than this teach nothing: the bound is infinite.
inline constexpr std::size_t fewest_margin_items = 256;

/// The bound is twice the largest error of any difference of two scores, offsets added, that the items show; a
/// difference beyond it has not the sign that it seems to have only where an item errs by more than twice the worst of
/// all that were looked at. fast, exact: (items, classes). A score that is not finite makes the bound infinite.
[[nodiscard]] Margin calibrate_margin(std::span<const float> fast, std::span<const float> exact, std::size_t classes);

}  // namespace sluice
