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

/// What GPUs' clocks were held down by, in 5 % of a GPU's samples or more: one of gpu_limits that has a meaning.
struct GpuLimited {
    std::size_t limit = 0;  ///< Its index there.
    std::size_t gpus = 0;   ///< So many of all.
    double share = 0;       ///< Of the samples of the GPU that met it most,
    int rank = 0;           ///< which this rank drives,
    std::string gpu{};      ///< and which is called so.
};

/// In the order of gpu_limits.
[[nodiscard]] std::vector<GpuLimited> find_gpu_limits(std::span<const RankReport> ranks);

/// "2 of 8 GPUs were slowed down by heat (hardware): GPU-… of rank 3 in 40 % of its samples; …"
[[nodiscard]] std::string text_of(const GpuLimited& limited, std::span<const RankReport> ranks);

/// What a run cost in GPUs.
struct GpuCost {
    std::size_t gpus = 0;                        ///< That were looked at, or where none was, devices.
    std::optional<GpuUse::Clock> clock_mhz{};    ///< Of all GPUs; the mean is that of their means.
    std::optional<double> watts{};               ///< Of all together.
    std::optional<double> joules{};              ///< Of all together; nullopt: one of them does not say.
    std::optional<double> joules_per_million{};  ///< Items.
    std::optional<double> hours_per_million{};   ///< GPU-hours per million items.
    std::string note{};                          ///< Why something is not known; empty: all is.
};

/// nullopt: it ran on no GPU. `items` are those that it finished.
[[nodiscard]] std::optional<GpuCost> gpu_cost(std::span<const RankReport> ranks, std::uint64_t items,
                                              std::chrono::nanoseconds wall);

[[nodiscard]] nlohmann::json to_json(const std::optional<GpuCost>& cost);

/// A line of the latency table; empty for no GPUs.
[[nodiscard]] std::string text_of(const std::optional<GpuCost>& cost);

/// In seconds, watts and joules; gpu_uses_from() gives back the same.
void add_to_json(nlohmann::json& facts, const GpuUses& uses);
[[nodiscard]] GpuUses gpu_uses_from(const nlohmann::json& facts);

}  // namespace sluice
