#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/commit/run_paths.hpp"
#include "scheduler/attempt_summary.hpp"

namespace sluice {

/// Reports kept in the run's folder: those of the newest attempts.
inline constexpr std::size_t most_kept_reports = 100;

/// A run's attempts before number `before`, oldest first: from the newest kept report and, for later ones or those
/// without an end in it, from their own folders. Call before the run is complete, which removes those folders.
[[nodiscard]] std::vector<AttemptSummary> earlier_attempts(const RunPaths& paths, std::uint32_t before);

/// Stores the report of attempt `attempt` in the run's folder, replacing its own earlier one. Returns its path. Throws
/// Error.
std::filesystem::path keep_report(const RunPaths& paths, std::uint32_t attempt, std::string_view text);

/// The report of the newest attempt that has left one; nullopt: none has.
[[nodiscard]] std::optional<std::filesystem::path> newest_report(const RunPaths& paths);

}  // namespace sluice
