#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// `text` in single quotes, with control and non-UTF-8 bytes as \xNN, of more than 200 bytes without its middle: safe
/// to print on a terminal.
[[nodiscard]] std::string quoted(std::string_view text);

// Exact matches, so that std::quoted, which argument-dependent lookup finds for a std::string, is never chosen.
[[nodiscard]] inline std::string quoted(const std::string& text) {
    return quoted(std::string_view(text));
}
[[nodiscard]] inline std::string quoted(std::string& text) {
    return quoted(std::string_view(text));
}
[[nodiscard]] inline std::string quoted(const char* text) {
    return quoted(std::string_view(text));
}

/// quoted() without the quotes.
[[nodiscard]] std::string escaped(std::string_view text);

/// JSON in UTF-8 whose DEL and control characters from U+0080 to U+009F are \u00XX, as others must be in JSON: a
/// terminal may obey them.
[[nodiscard]] std::string escaped_json(std::string_view json);

/// All of `text` escaped, or as much of its start as fits into `limit` bytes, never cut inside a character or an
/// escape, and "…". Leaves escapes of escaped() as they are.
[[nodiscard]] std::string escaped_within(std::string_view text, std::size_t limit);

}  // namespace sluice
