#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/commit/run_paths.hpp"
#include "scheduler/attempt_summary.hpp"

namespace sluice {

/// So many attempts' reports are kept in the run's folder, the newest.
inline constexpr std::size_t most_kept_reports = 100;

/// The attempts at a run before the `before`th, oldest first: as the newest kept report lists them, and those after it,
/// or whose end it does not tell, as their own folders do. To be asked before the run is complete, which removes those.
[[nodiscard]] std::vector<AttemptSummary> earlier_attempts(const RunPaths& paths, std::uint32_t before);

/// Keeps the report of attempt `attempt` in the run's folder, in place of its own earlier one. Returns where. Throws
/// Error (io_error).
std::filesystem::path keep_report(const RunPaths& paths, std::uint32_t attempt, std::string_view text);

}  // namespace sluice
