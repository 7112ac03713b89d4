#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Whether a character of UTF-8 begins with `byte`.
[[nodiscard]] constexpr bool starts_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// Characters of `text`, which is printable UTF-8.
[[nodiscard]] std::size_t text_width(std::string_view text) noexcept;

/// Lines of cells: each column is as wide as its widest cell, with two spaces before it; no spaces at a line's end.
[[nodiscard]] std::string text_columns(const std::vector<std::vector<std::string>>& rows);

/// `text` with `by` in place of each `place`, which is not empty.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view place, std::string_view by);

/// "1 core", "2 cores".
[[nodiscard]] std::string count_of(std::size_t count, std::string_view noun);

/// "3, 17, 20", or "3, 17, …" if they are more than `most`.
[[nodiscard]] std::string first_of(std::span<const std::uint64_t> numbers, std::size_t most = 10);

/// A run's items.
struct ItemCount {
    std::uint64_t done = 0;  ///< Including `before`.
    std::uint64_t total = 0;
    std::uint64_t before = 0;   ///< Done by earlier attempts.
    bool is_estimated = false;  ///< `total` is.

    /// `done` in percent of `total`; 100 if there are no items.
    [[nodiscard]] double percent() const noexcept;
};

enum class Percentage : std::uint8_t { hidden, shown };

/// "812 of 2000 items", "812 of about 2000 items", "812 of 2000 items (40.6 %)"; followed by ": 500 in this run, 312
/// before" if some were done before.
[[nodiscard]] std::string count_text(const ItemCount& items, Percentage percentage = Percentage::hidden);

/// "0.0123", "8.33", "44.2", "812", "1250000": a rate, without its unit.
[[nodiscard]] std::string rate_text(double per_second);

/// "1.85 s", "23.4 ms", "512 µs": three significant digits.
[[nodiscard]] std::string time_text(double seconds);

/// Insertions, deletions, replacements and swaps of neighbours that turn one string into the other, each part of a
/// string edited once (optimal string alignment; Damerau 1964).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// The closest of `names`, whatever the case of ASCII letters, the first if several are equally close. If none is
/// within a third of the length of `wrong` (at least 1 edit), the one that begins with `wrong`; empty if none does, or
/// several.
[[nodiscard]] std::string_view closest_name(std::string_view wrong, std::span<const std::string_view> names);

/// "; did you mean 'depth'?", or an empty string.
[[nodiscard]] std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace sluice
