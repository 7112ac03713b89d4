#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/report.hpp"

namespace sluice {

inline constexpr std::size_t longest_host_name = 12;
inline constexpr std::size_t label_width = 28;  ///< Of the longest title, so that the sections' columns line up.

struct WallRow {
    std::string label;
    std::chrono::nanoseconds time{0};
};

/// All rows of a rank's wall view, in the order of a run; the same rows for every rank.
[[nodiscard]] std::vector<WallRow> wall_rows(const WallView& wall);

/// One column a rank, or beyond 64 ranks their extremes: events, stages and the wall view, in milliseconds.
[[nodiscard]] std::string sections_text(const RunReport& report);

}  // namespace sluice
