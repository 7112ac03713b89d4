#include "scheduler/gpu_cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/json_types.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

constexpr double least_limited_share = 0.05;
constexpr double million = 1e6;
constexpr double seconds_per_hour = 3600;

std::size_t sampled_gpus(std::span<const RankReport> ranks) {
    std::size_t gpus = 0;
    for (const RankReport& rank : ranks) {
        gpus += rank.facts.gpu_uses.gpus.size();
    }
    return gpus;
}

Json clock_json_of(const std::optional<GpuClock>& clock) {
    return clock ? Json{{"min", clock->least}, {"mean", clock->mean}, {"max", clock->most}} : Json(nullptr);
}

/// Shares by name; null: unknown.
Json limits_json(const GpuUse& use) {
    if (use.limit_shares.empty()) {
        return nullptr;
    }
    Json json = Json::object();
    for (std::size_t i = 0; i < gpu_limits.size(); ++i) {
        json[std::string(gpu_limits[i].name)] = use.limit_shares[i];
    }
    return json;
}

/// Adds the use of one GPU to that of `before` others.
void add_use(GpuCost& cost, const GpuUse& use, std::size_t before) {
    if (use.clock_mhz && (before == 0 || cost.clock_mhz)) {
        const double weight = 1.0 / static_cast<double>(before + 1);
        const GpuClock old = cost.clock_mhz.value_or(*use.clock_mhz);
        cost.clock_mhz = GpuClock{.least = std::min(old.least, use.clock_mhz->least),
                                  .mean = old.mean + (use.clock_mhz->mean - old.mean) * weight,
                                  .most = std::max(old.most, use.clock_mhz->most)};
    } else {
        cost.clock_mhz.reset();
    }
    const auto sum = [before](std::optional<double>& of_all, const std::optional<double>& of_one) {
        of_all = of_one && (before == 0 || of_all) ? std::optional(of_all.value_or(0) + *of_one) : std::nullopt;
    };
    sum(cost.watts, use.watts);
    sum(cost.joules, use.joules);
}

}  // namespace

std::vector<GpuLimited> find_gpu_limits(std::span<const RankReport> ranks) {
    std::vector<GpuLimited> all;
    for (std::size_t limit = 0; limit < gpu_limits.size(); ++limit) {
        GpuLimited found{.limit = limit};
        for (const RankReport& rank : ranks) {
            for (const GpuUse& use : rank.facts.gpu_uses.gpus) {
                const double share = use.limit_shares.empty() ? 0 : use.limit_shares[limit];
                found.gpus += share >= least_limited_share ? 1U : 0U;
                if (share > found.share) {
                    found.share = share;
                    found.rank = rank.rank;
                    found.gpu = use.gpu;
                }
            }
        }
        if (found.gpus != 0 && !gpu_limits[limit].meaning.empty()) {
            all.push_back(found);
        }
    }
    return all;
}

std::string text_of(const GpuLimited& limited, std::span<const RankReport> ranks) {
    const GpuLimit& limit = gpu_limits[limited.limit];
    const std::size_t all = sampled_gpus(ranks);
    const std::string_view then = limit.name == "power_cap"            ? "usual at full load"
                                  : limit.name == "application_clocks" ? "nvidia-smi --reset-applications-clocks"
                                  : limit.name == "sync_boost"         ? "set by the node's administrator"
                                                                       : "a matter of the node's cooling or power";
    return fmt::format("{} of {} {} {}: {} of rank {} in {:.0f} % of its samples; {}", limited.gpus,
                       count_of(all, "GPU"), limited.gpus == 1 ? "was" : "were", limit.meaning, escaped(limited.gpu),
                       limited.rank, 100 * limited.share, then);
}

std::optional<GpuCost> gpu_cost(std::span<const RankReport> ranks, std::uint64_t items, std::chrono::nanoseconds wall) {
    GpuCost cost;
    std::size_t devices = 0;
    std::size_t looked_at = 0;
    for (const RankReport& rank : ranks) {
        devices += rank.facts.gpus.size();
        for (const GpuUse& use : rank.facts.gpu_uses.gpus) {
            add_use(cost, use, looked_at++);
        }
        cost.note = cost.note.empty() ? rank.facts.gpu_uses.note : cost.note;
    }
    if (devices == 0) {
        return std::nullopt;
    }
    cost.gpus = cost.note.empty() && looked_at != 0 ? looked_at : devices;
    if (!cost.note.empty()) {  // known of some GPUs only
        cost.watts.reset();
        cost.joules.reset();
    }
    if (items != 0) {
        const double millions = static_cast<double>(items) / million;
        cost.hours_per_million = static_cast<double>(cost.gpus) * Seconds(wall).count() / seconds_per_hour / millions;
        if (cost.joules) {
            cost.joules_per_million = *cost.joules / millions;
        }
    }
    return cost;
}

void to_json(Json& to, const GpuCost& cost) {
    to = {{"gpus", cost.gpus},
          {"clock_mhz", clock_json_of(cost.clock_mhz)},
          {"watts", cost.watts},
          {"joules", cost.joules},
          {"joules_per_million_items", cost.joules_per_million},
          {"hours_per_million_items", cost.hours_per_million},
          {"note", or_null(cost.note)}};
}

std::string text_of(const std::optional<GpuCost>& cost) {
    if (!cost) {
        return {};
    }
    std::string text = count_of(cost->gpus, "GPU");
    if (cost->clock_mhz) {
        text += fmt::format(", {:.0f} MHz ({:.0f} to {:.0f})", cost->clock_mhz->mean, cost->clock_mhz->least,
                            cost->clock_mhz->most);
    }
    if (cost->watts) {
        text += fmt::format(", {:.0f} W", *cost->watts);
    }
    if (cost->hours_per_million) {
        text += fmt::format("; a million items: {:.3g} GPU-hours", *cost->hours_per_million);
    }
    if (cost->joules_per_million) {
        text += fmt::format(", {:.3g} kJ", *cost->joules_per_million / 1000);
    }
    return text + (cost->note.empty() ? "\n" : fmt::format("; power and clocks not known: {}\n", cost->note));
}

void add_to_json(Json& facts, const GpuUses& uses) {
    Json& gpus = facts["gpu_use"] = Json::array();
    for (const GpuUse& use : uses.gpus) {
        gpus.push_back({{"gpu", use.gpu},
                        {"samples", use.samples},
                        {"time", Seconds(use.time).count()},
                        {"clock_mhz", clock_json_of(use.clock_mhz)},
                        {"watts", use.watts},
                        {"joules", use.joules},
                        {"joules_counted", use.joules_are_counted},
                        {"limits", limits_json(use)}});
    }
    facts["gpu_use_note"] = or_null(uses.note);
}

}  // namespace sluice
