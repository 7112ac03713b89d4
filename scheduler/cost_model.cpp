#include "scheduler/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr double most_fixed_share = 1.0 / 40;
constexpr std::uint64_t fewest_chunks = 16;
constexpr std::uint32_t least_depth = 3;
constexpr std::uint32_t most_depth = 16;

const StageCost& binding_stage(const CostModel& costs, double items) {
    const StageCost* binding = &costs.compute;
    for (const StageCost* stage : {&costs.upload, &costs.download}) {
        binding = stage->of(items) > binding->of(items) ? stage : binding;
    }
    return *binding;
}

/// The smallest number of items in which `cost` has no more than most_fixed_share of fixed cost; +inf: there is none.
double efficient_items(const StageCost& cost) {
    return cost.fixed == 0 ? 1 : cost.fixed * (1 / most_fixed_share - 1) / cost.an_item;
}

std::uint32_t choose_depth(const CostModel& costs, double items) {
    const double copies = costs.upload.of(items) + costs.download.of(items);
    const double hidden_by = std::max(costs.compute.of(items), 1e-9);
    const double depth = 2 + std::ceil(copies / hidden_by);
    return static_cast<std::uint32_t>(
        std::clamp(depth, static_cast<double>(least_depth), static_cast<double>(most_depth)));
}

std::string text(const StageCost& cost) {
    return fmt::format("{:.0f} µs + {:.3g} µs per item", cost.fixed * 1e6, cost.an_item * 1e6);
}

}  // namespace

StageCost fit_cost(std::span<const CostSample> samples) {
    expects(!samples.empty(), "cost model: no samples");
    // Minimises the sum of (1 - (fixed + an_item n) / t)^2: ordinary least squares in u = 1 / t, v = n / t.
    double uu = 0;
    double uv = 0;
    double vv = 0;
    double u = 0;
    double v = 0;
    for (const CostSample& sample : samples) {
        expects(sample.items > 0 && std::isfinite(sample.seconds) && sample.seconds >= 0,
                "cost model: a sample without items or time");
        const double weight = 1 / std::max(sample.seconds, 1e-9);
        const double n = static_cast<double>(sample.items) * weight;
        uu += weight * weight;
        uv += weight * n;
        vv += n * n;
        u += weight;
        v += n;
    }
    const double determinant = uu * vv - uv * uv;
    const StageCost through_zero{.fixed = 0, .an_item = v / vv};
    if (determinant <= 1e-12 * uu * vv) {  // one size only: nothing tells fixed cost from the rest
        return through_zero;
    }
    const StageCost line{.fixed = (u * vv - v * uv) / determinant, .an_item = (v * uu - u * uv) / determinant};
    if (line.fixed < 0) {
        return through_zero;
    }
    return line.an_item < 0 ? StageCost{.fixed = u / uu, .an_item = 0} : line;
}

std::uint32_t best_rate(std::span<const CostSample> samples) {
    expects(!samples.empty(), "cost model: no samples");
    const auto rate = [](const CostSample& s) { return s.items / std::max(s.seconds, 1e-9); };
    return std::ranges::max_element(samples, {}, rate)->items;
}

ChunkChoice choose_chunk(const CostModel& costs, std::uint64_t items, std::uint32_t most_items) {
    expects(costs.whole_items > 0 && most_items > 0, "cost model: a chunk of no items");
    const StageCost& binding = binding_stage(costs, costs.whole_items);
    const double wanted = std::min(efficient_items(binding), static_cast<double>(most_items));
    const std::uint64_t whole = costs.whole_items;
    const auto multiples = static_cast<std::uint64_t>(std::ceil(wanted / static_cast<double>(whole)));
    const std::uint64_t most_multiples = std::min(most_items / whole, items / fewest_chunks / whole);
    const std::uint64_t wave_wise =
        std::min<std::uint64_t>(most_items, whole * std::max<std::uint64_t>(1, std::min(multiples, most_multiples)));
    const std::uint64_t chosen = std::clamp<std::uint64_t>(items, 1, wave_wise);
    const auto n = static_cast<double>(chosen);
    const std::string_view bound_by = chosen >= items                          ? "the whole job"
                                      : n >= wanted                            ? "its fixed cost no longer matters"
                                      : chosen + whole > items / fewest_chunks ? "a sixteenth of the job"
                                                                               : "what memory allows";
    return {
        .items = static_cast<std::uint32_t>(chosen),
        .depth = choose_depth(costs, n),
        .reason = fmt::format("chunks of {} items, {}: compute takes {}, {:.1f} % of that fixed; copies {:.0f} µs",
                              chosen, bound_by, text(costs.compute), 100 * costs.compute.fixed / costs.compute.of(n),
                              1e6 * (costs.upload.of(n) + costs.download.of(n)))};
}

}  // namespace sluice
