#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/report.hpp"

namespace sluice {

inline constexpr std::size_t longest_host_name = 12;
inline constexpr std::size_t label_width = 28;  ///< Width of the longest title, so that the sections' columns align.

struct WallRow {
    std::string label;
    std::chrono::nanoseconds time{0};
};

/// All rows of a rank's wall view, in chronological order; the same rows for every rank.
[[nodiscard]] std::vector<WallRow> wall_rows(const WallView& wall);

/// Events, stages and wall view in milliseconds: one column per rank, or beyond 64 ranks rank 0 and their minimum,
/// median and maximum.
[[nodiscard]] std::string sections_text(const RunReport& report);

}  // namespace sluice
