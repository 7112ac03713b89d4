#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Lines of cells, each column as wide as its widest cell, two spaces before each; no space at a line's end.
[[nodiscard]] std::string text_columns(const std::vector<std::vector<std::string>>& rows);

/// "1 core", "2 cores".
[[nodiscard]] std::string count_of(std::size_t count, std::string_view noun);

/// A run's items.
struct ItemCount {
    std::uint64_t done = 0;  ///< Those before included.
    std::uint64_t total = 0;
    std::uint64_t before = 0;  ///< That earlier attempts have done.

    /// Of `done`, in percent; of no items all.
    [[nodiscard]] double percent() const noexcept;
};

enum class Percentage : std::uint8_t { hidden, shown };

/// "812 of 2000 items", "812 of 2000 items (40.6 %)"; where some were done before ": 500 in this run, 312 before"
/// follows.
[[nodiscard]] std::string count_text(const ItemCount& items, Percentage percentage = Percentage::hidden);

/// Insertions, deletions, replacements and swaps of neighbours that turn one string into the other, each part of a
/// string edited once (optimal string alignment; Damerau 1964).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// The nearest of `names`, or an empty string when none is within a third of the length of `wrong` (at least 1 edit).
/// The first of equally near ones.
[[nodiscard]] std::string_view closest_name(std::string_view wrong, std::span<const std::string_view> names);

/// "; did you mean 'depth'?", or an empty string.
[[nodiscard]] std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace sluice
