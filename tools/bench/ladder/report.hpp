#pragma once

#include <string>

#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {

/// The line over the table, one rung's, and what was measured where. Lines end with a newline.
[[nodiscard]] std::string table_head();
[[nodiscard]] std::string table_line(const RungResult& rung);
[[nodiscard]] std::string table_foot(const LadderResult& result);

/// A picture of bars, each rung's share of the library's rate, as SVG.
[[nodiscard]] std::string bars(const LadderResult& result);

/// All figures as a JSON object; what is not known is null.
[[nodiscard]] std::string json_of(const LadderResult& result);

}  // namespace sluice::ladder
