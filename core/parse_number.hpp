#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sluice {

/// The decimal number that all of `text` is; nullopt: it is none, or one that `Number` cannot hold.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const all = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), all, number);
    return error == std::errc() && end == all ? std::optional(number) : std::nullopt;
}

}  // namespace sluice
