#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

struct Utf8Sequence {
    std::size_t length = 0;
    bool is_well_formed = false;
};

/// What begins at text[at]: a well-formed UTF-8 sequence (RFC 3629, section 4), or the part of an ill-formed one that
/// is replaced by one U+FFFD: its longest prefix that begins a well-formed sequence, at least one byte (Unicode 15,
/// section 3.9, "maximal subpart"). at < text.size().
[[nodiscard]] Utf8Sequence utf8_sequence(std::string_view text, std::size_t at) noexcept;

/// Length of the well-formed sequence at text[at], 0 if there is none. at < text.size().
[[nodiscard]] inline std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
    const Utf8Sequence sequence = utf8_sequence(text, at);
    return sequence.is_well_formed ? sequence.length : 0;
}

}  // namespace sluice
