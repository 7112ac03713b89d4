#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"
#include "scheduler/rank_report.hpp"

namespace sluice {

/// Which resource binds the run. Rates are items per second.
///
/// The capacity of a stage is the sum of items / busy time over its devices or threads on all ranks: what it would do
/// if it never waited. The stage of least capacity binds. As no device is busy longer than the run, achieved <=
/// achievable, but for the error of the clocks.
struct Verdict {
    std::array<std::optional<double>, stage_count> capacity{};  ///< By index_of(stage); nullopt: no work recorded.
    std::optional<Stage> binding;                               ///< nullopt: no verdict; `line` says why.
    int rank = 0;                                               ///< Where the binding stage was busy longest.
    double achieved = 0;
    double achievable = 0;           ///< The binding stage's capacity.
    double share = 0;                ///< achieved / achievable
    std::vector<std::string> notes;  ///< What to change, each "NOTE: …".
    std::string line;                ///< "compute on rank 2 binds: 812 of 840 items/s (96.7 %)"
};

/// `items` is what the run finished. Pure.
[[nodiscard]] Verdict judge(std::span<const RankReport> ranks, std::uint64_t items);

/// The run's length: from the first rank's start to the last one's finish.
[[nodiscard]] std::chrono::nanoseconds wall_time(std::span<const RankReport> ranks);

/// "0.0123", "8.33", "44.2", "812", "1250000": without a unit, as all numbers of the table.
[[nodiscard]] std::string rate_text(double per_second);

}  // namespace sluice
