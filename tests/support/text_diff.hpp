#pragma once

#include <string>

namespace sluice::test {

/// What turns `expected` into `actual`, line by line: "  both", "- expected only", "+ actual only"; "" when they are
/// equal.
[[nodiscard]] std::string text_diff(const std::string& expected, const std::string& actual);

}  // namespace sluice::test
