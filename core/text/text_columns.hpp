#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Lines of cells, each column as wide as its widest cell, two spaces before each; no space at a line's end.
[[nodiscard]] std::string text_columns(const std::vector<std::vector<std::string>>& rows);

/// "1 core", "2 cores".
[[nodiscard]] std::string count_of(std::size_t count, std::string_view noun);

}  // namespace sluice
