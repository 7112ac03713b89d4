#pragma once

#include <string>

namespace sluice::test {

/// Line-by-line difference: "  both", "- expected only", "+ actual only"; empty if the texts are equal.
[[nodiscard]] std::string text_diff(const std::string& expected, const std::string& actual);

}  // namespace sluice::test
