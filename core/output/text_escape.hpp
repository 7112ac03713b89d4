#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// Text of a model as each format writes it. In all of them the part of an ill-formed sequence that utf8_sequence()
// gives becomes U+FFFD. Each writes to `to`, where there is room for longest_escape(text.size()) bytes, and returns
// where it has ended.

[[nodiscard]] constexpr std::size_t longest_escape(std::size_t bytes) noexcept {
    return 6 * bytes + 2;  // \u0000 in JSON, two quotes around it
}

/// RFC 4180: in quotes where it has a comma, a quote, CR or LF, and where it is empty, so that it is no missing value.
[[nodiscard]] char* put_csv_text(std::string_view text, char* to) noexcept;

/// RFC 8259: in quotes, with quotes, backslashes and what is below U+0020 escaped.
[[nodiscard]] char* put_json_text(std::string_view text, char* to) noexcept;

/// One line: LF, CR and backslash become \n, \r and two backslashes.
[[nodiscard]] char* put_line_text(std::string_view text, char* to) noexcept;

}  // namespace sluice
