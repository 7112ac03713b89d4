#pragma once

#include <algorithm>
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

}  // namespace sluice
