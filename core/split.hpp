#pragma once

#include <algorithm>
#include <string_view>

namespace sluice {

/// Takes the text before the next `end` away from `text`, and `end`; all of it where there is none.
inline std::string_view take_until(std::string_view& text, char end) {
    const std::string_view part = text.substr(0, text.find(end));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

/// `text` without `blanks` at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text, std::string_view blanks = " ") {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace sluice
