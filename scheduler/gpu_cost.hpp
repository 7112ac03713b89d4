#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/gpu_use.hpp"
#include "scheduler/rank_report.hpp"

namespace sluice {

/// A reason for reduced GPU clocks, in at least 5 % of some GPU's samples: one of gpu_limits that has a meaning.
struct GpuLimited {
    std::size_t limit = 0;  ///< Index in gpu_limits.
    std::size_t gpus = 0;   ///< GPUs affected.
    double share = 0;       ///< Of the samples of the most affected GPU.
    int rank = 0;           ///< The rank that drives that GPU.
    std::string gpu{};      ///< That GPU's name.
};

/// In the order of gpu_limits.
[[nodiscard]] std::vector<GpuLimited> find_gpu_limits(std::span<const RankReport> ranks);

/// "2 of 8 GPUs were slowed down by heat (hardware): GPU-… of rank 3 in 40 % of its samples; …"
[[nodiscard]] std::string text_of(const GpuLimited& limited, std::span<const RankReport> ranks);

/// What a run cost in GPUs.
struct GpuCost {
    std::size_t gpus = 0;  ///< Sampled GPUs; all of the ranks' GPUs if none was sampled or a rank's use has a note.
    std::optional<GpuClock> clock_mhz{};         ///< Over all GPUs; the mean is the mean of their means.
    std::optional<double> watts{};               ///< Sum over the GPUs.
    std::optional<double> joules{};              ///< Sum over the GPUs; nullopt: unknown for one of them.
    std::optional<double> joules_per_million{};  ///< Per million items.
    std::optional<double> hours_per_million{};   ///< GPU-hours per million items.
    std::string note{};                          ///< Why a value is unknown; empty: all are known.
};

/// nullopt: no GPU was used. `items`: finished ones.
[[nodiscard]] std::optional<GpuCost> gpu_cost(std::span<const RankReport> ranks, std::uint64_t items,
                                              std::chrono::nanoseconds wall);

void to_json(nlohmann::json& to, const GpuCost& cost);

/// A line of the latency table; empty without GPUs.
[[nodiscard]] std::string text_of(const std::optional<GpuCost>& cost);

/// For the report: in seconds, watts and joules.
void add_to_json(nlohmann::json& facts, const GpuUses& uses);

}  // namespace sluice
