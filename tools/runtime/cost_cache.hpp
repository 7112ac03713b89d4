#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "scheduler/cost_model.hpp"

namespace sluice {

/// What was measured of an app on a GPU model.
struct MeasuredCosts {
    CostModel costs;
    std::uint64_t job_items = 0;    ///< Of the job that they were measured for.
    std::uint32_t least_items = 1;  ///< That a chunk should have for the app.
    std::uint32_t most_items = 1;   ///< That it may have for the app and the GPU's memory.
    friend bool operator==(const MeasuredCosts&, const MeasuredCosts&) = default;
};

/// sluice/costs.json in $XDG_CACHE_HOME or else ~/.cache; nullopt where neither variable holds an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> cost_cache_file();

/// What `file` holds under `key`. nullopt when there is nothing, or nothing that keep_costs() wrote: a cache may always
/// be measured again.
[[nodiscard]] std::optional<MeasuredCosts> find_costs(const std::filesystem::path& file, const std::string& key);

/// Adds it, or replaces it, at once for all readers; of many the oldest goes. Returns an empty string, or why it could
/// not.
[[nodiscard]] std::string keep_costs(const std::filesystem::path& file, const std::string& key,
                                     const MeasuredCosts& costs);

/// The same of what a device can compute at most, FLOP per second.
[[nodiscard]] std::optional<double> find_peak(const std::filesystem::path& file, const std::string& key);
[[nodiscard]] std::string keep_peak(const std::filesystem::path& file, const std::string& key, double flop_a_second);

}  // namespace sluice
