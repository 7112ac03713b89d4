#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace sluice {

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
