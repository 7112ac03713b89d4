#pragma once

#include <string>

#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {

/// The table's head, a rung's line, and what was measured where. Lines end with a newline.
[[nodiscard]] std::string table_head();
[[nodiscard]] std::string table_line(const RungResult& rung);
[[nodiscard]] std::string table_foot(const LadderResult& result);

/// SVG bar chart of each rung's share of the library's rate, with its other figures; says what is wrong or skipped.
[[nodiscard]] std::string bars(const LadderResult& result);

/// All figures as a JSON object; unknown ones are null.
[[nodiscard]] std::string json_of(const LadderResult& result);

}  // namespace sluice::ladder
