#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "scheduler/cost_model.hpp"

namespace sluice {

/// Costs of an app measured on a GPU model.
struct MeasuredCosts {
    CostModel costs;
    std::uint64_t job_items = 0;    ///< Items of the job that they were measured for.
    std::uint32_t least_items = 1;  ///< Least items per chunk that the app wants.
    std::uint32_t most_items = 1;   ///< Most items per chunk, by the app and the GPU's memory.
    friend bool operator==(const MeasuredCosts&, const MeasuredCosts&) = default;
};

/// sluice/costs.json in $XDG_CACHE_HOME, else in $HOME/.cache; nullopt if neither variable holds an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> cost_cache_file();

/// Entry of `file` under `key`; nullopt if missing or not written by keep_costs(): it can always be measured again.
[[nodiscard]] std::optional<MeasuredCosts> find_costs(const std::filesystem::path& file, const std::string& key);

/// Adds or replaces an entry, atomically for readers; evicts the oldest of too many. Returns an empty string, or why it
/// failed.
[[nodiscard]] std::string keep_costs(const std::filesystem::path& file, const std::string& key,
                                     const MeasuredCosts& costs);

/// The same for a device's peak, in FLOP/s.
[[nodiscard]] std::optional<double> find_peak(const std::filesystem::path& file, const std::string& key);
[[nodiscard]] std::string keep_peak(const std::filesystem::path& file, const std::string& key, double flop_per_second);

}  // namespace sluice
