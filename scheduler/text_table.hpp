#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Lines of cells in aligned columns, two spaces apart: the first column to the left, the others to the right.
class TextTable {
public:
    /// Rows may have different numbers of cells. Cells are printable UTF-8.
    void add_row(std::vector<std::string> cells);

    /// Each line ends with a newline and has no spaces before it.
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/// `text`, cut to `most` characters, the last of which is '…' when some were lost. `most` >= 1.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace sluice
