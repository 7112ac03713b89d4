#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace sluice {

/// Removes the text before the first `end`, and `end` itself, from `text` and returns the former; all of `text` if
/// there is no `end`.
inline std::string_view take_until(std::string_view& text, char end) {
    const std::string_view part = text.substr(0, text.find(end));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

/// `text` without the characters of `blanks` at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text, std::string_view blanks = " ") {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The whole of `text` as a decimal number; nullopt if it is not one, or does not fit into `Number`.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const all = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), all, number);
    return error == std::errc() && end == all ? std::optional(number) : std::nullopt;
}

/// Whether `text` is one or more digits and nothing else.
[[nodiscard]] inline bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace sluice
