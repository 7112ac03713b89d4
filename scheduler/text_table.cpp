#include "scheduler/text_table.hpp"

#include <algorithm>

#include "core/text/wording.hpp"

namespace sluice {

std::string text_table(const TextRows& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], text_width(row[column]));
        }
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const std::string padding(widths[column] - text_width(row[column]), ' ');
            line += column == 0 ? row[column] + padding : "  " + padding + row[column];
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text_width(text) <= most) {
        return std::string(text);
    }
    std::size_t at = 0;
    for (std::size_t characters = 0; at < text.size(); ++at) {
        if (starts_character(text[at]) && ++characters == most) {
            break;
        }
    }
    return std::string(text.substr(0, at)) + "…";
}

}  // namespace sluice
