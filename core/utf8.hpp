#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

/// Length of the well-formed UTF-8 sequence at text[at], 0 if there is none (RFC 3629, section 4). at < text.size().
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at) noexcept;

}  // namespace sluice
