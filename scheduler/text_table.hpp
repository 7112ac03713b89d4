#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using TextRows = std::vector<std::vector<std::string>>;

/// Aligned columns, two spaces apart: the first flush left, the others flush right. Rows may have different numbers of
/// cells, which are printable UTF-8. Each line ends with a newline, without trailing spaces.
[[nodiscard]] std::string text_table(const TextRows& rows);

/// `text`, truncated to `most` >= 1 characters, the last of which is then '…'.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace sluice
