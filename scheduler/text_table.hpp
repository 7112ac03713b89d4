#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Aligned columns, two spaces apart: the first flush left, the others flush right.
class TextTable {
public:
    /// Rows may have different numbers of cells. Cells are printable UTF-8.
    void add_row(std::vector<std::string> cells);

    /// Each line ends with a newline, without trailing spaces.
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/// `text`, truncated to `most` >= 1 characters, the last of which is then '…'.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace sluice
