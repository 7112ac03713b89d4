#include "tests/support/text_diff.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

namespace sluice::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line + (stream.eof() ? "(no newline at the end)" : ""));
    }
    return lines;
}

}  // namespace

std::string text_diff(const std::string& expected, const std::string& actual) {
    if (expected == actual) {
        return {};
    }
    const std::vector<std::string> from = lines_of(expected);
    const std::vector<std::string> to = lines_of(actual);
    // common[i][j]: lines that from[i…] and to[j…] have in common, in order
    std::vector<std::vector<std::size_t>> common(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = from.size(); i-- > 0;) {
        for (std::size_t j = to.size(); j-- > 0;) {
            common[i][j] = from[i] == to[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }
    std::string diff;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < from.size() || j < to.size()) {
        if (i < from.size() && j < to.size() && from[i] == to[j]) {
            diff += "  " + from[i++] + "\n";
            ++j;
        } else if (i < from.size() && (j == to.size() || common[i + 1][j] >= common[i][j + 1])) {
            diff += "- " + from[i++] + "\n";
        } else {
            diff += "+ " + to[j++] + "\n";
        }
    }
    return diff;
}

}  // namespace sluice::test
