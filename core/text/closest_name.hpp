#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Insertions, deletions, replacements and swaps of neighbours that turn one string into the other, each part of a
/// string edited once (optimal string alignment; Damerau 1964).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// The nearest of `names`, or an empty string when none is within a third of the length of `wrong` (at least 1 edit).
/// The first of equally near ones.
[[nodiscard]] std::string_view closest_name(std::string_view wrong, std::span<const std::string_view> names);

/// "; did you mean 'depth'?", or an empty string.
[[nodiscard]] std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace sluice
