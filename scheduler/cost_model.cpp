#include "scheduler/cost_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr double indifference = 0.005;     // share of a run's time; about the predictions' accuracy
constexpr std::uint32_t growth_part = 16;  // candidates grow by 1 / this
constexpr std::uint32_t least_depth = 3;
constexpr std::uint32_t most_depth = 16;

/// Stage times of one chunk, in seconds.
struct PredictedStages {
    PredictedStages(const CostModel& costs, double items)
        : upload(costs.upload.of(items)),
          compute(costs.compute.of(std::ceil(items / costs.whole_items) * costs.whole_items)),
          download(costs.download.of(items)) {}

    [[nodiscard]] double sum() const noexcept { return upload + compute + download; }
    [[nodiscard]] double slowest() const noexcept { return std::max({upload, compute, download}); }

    double upload;
    double compute;
    double download;
};

struct SizeRange {
    std::uint64_t least;
    std::uint64_t most;
    std::string_view bound_by;  // what limits `most`
};

/// How long a chunk may compute, in seconds: a stop waits for those in flight, three as a rule, for 20 s unless the job
/// says otherwise. But most of a chunk's time should not be its fixed cost.
struct TimeLimit {
    double seconds;
    std::string_view name;
    std::uint64_t trusted_growth;  ///< Factor beyond the largest measured size; more where larger ones take long.
    std::string_view growth_name;
};

TimeLimit time_limit(double fixed) {
    constexpr double usual = 2;
    constexpr double of_long_texts = 5;
    constexpr std::string_view eight_times = "eight times what was measured";
    if (10 * fixed <= usual) {
        return {usual, "two seconds of compute", 4, "four times what was measured"};
    }
    if (10 * fixed <= of_long_texts) {
        return {10 * fixed, "ten times the fixed part of compute", 8, eight_times};
    }
    if (5 * fixed <= of_long_texts) {
        return {of_long_texts, "five seconds of compute", 8, eight_times};
    }
    return {5 * fixed, "five times the fixed part of compute", 8, eight_times};
}

SizeRange allowed(const CostModel& costs, const ChunkJob& job) {
    const std::uint64_t waves = (std::uint64_t{job.least_items} + costs.whole_items - 1) / costs.whole_items;
    const std::uint64_t least = std::min<std::uint64_t>(waves * costs.whole_items, job.most_items);
    SizeRange range{least, job.most_items, "what app and memory allow"};
    const auto lower = [&range](std::uint64_t most, std::string_view bound_by) {
        if (most < range.most) {
            range.most = std::max(range.least, most);
            range.bound_by = bound_by;
        }
    };
    const TimeLimit limit = time_limit(costs.compute.fixed);
    lower(limit.trusted_growth * costs.largest_measured, limit.growth_name);
    const double items_of_that = (limit.seconds - costs.compute.fixed) / std::max(costs.compute.per_item, 1e-15);
    lower(static_cast<std::uint64_t>(std::min(items_of_that, 1e18)), limit.name);
    return range;
}

/// Multiples of `whole` in the range, each at most a sixteenth larger than the one before; none is larger than the job.
std::vector<std::uint32_t> candidates(const SizeRange& range, std::uint64_t whole, std::uint64_t items) {
    std::vector<std::uint32_t> sizes;
    const std::uint64_t most = std::min(range.most, items);
    for (std::uint64_t n = (range.least + whole - 1) / whole; n * whole <= most;
         n += std::max<std::uint64_t>(1, n / growth_part)) {
        sizes.push_back(static_cast<std::uint32_t>(n * whole));
    }
    if (sizes.empty() || items <= range.most) {  // less than a wave fits, or the job is one chunk
        sizes.push_back(static_cast<std::uint32_t>(most));
    }
    return sizes;
}

/// For each size, how much longer a run takes than with the best size, on the number of devices that suits it worst.
std::vector<double> worst_losses(const CostModel& costs, std::span<const std::uint32_t> sizes, std::uint64_t items,
                                 std::span<const std::uint32_t> devices) {
    std::vector<double> worst(sizes.size());
    for (const std::uint32_t count : devices) {
        std::vector<double> runs;
        for (const std::uint32_t size : sizes) {
            runs.push_back(predict_seconds(costs, items, size, count));
        }
        const double best = std::max(*std::ranges::min_element(runs), 1e-12);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            worst[i] = std::max(worst[i], runs[i] / best - 1);
        }
    }
    return worst;
}

std::uint32_t choose_depth(const CostModel& costs, double items) {
    const double copies = costs.upload.of(items) + costs.download.of(items);
    const double hidden_by = std::max(costs.compute.of(items), 1e-9);
    const double depth = 2 + std::ceil(copies / hidden_by);
    return static_cast<std::uint32_t>(
        std::clamp(depth, static_cast<double>(least_depth), static_cast<double>(most_depth)));
}

std::string text(const StageCost& cost) {
    return fmt::format("{:.0f} µs + {:.3g} µs per item", cost.fixed * 1e6, cost.per_item * 1e6);
}

}  // namespace

StageCost fit_cost(std::span<const CostSample> samples) {
    expects(!samples.empty(), "cost model: no samples");
    // Minimises the sum of (1 - (fixed + per_item n) / t)^2: ordinary least squares in u = 1 / t, v = n / t.
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
    const StageCost through_zero{.fixed = 0, .per_item = v / vv};
    if (determinant <= 1e-12 * uu * vv) {  // one size only: the fixed cost cannot be separated
        return through_zero;
    }
    const StageCost line{.fixed = (u * vv - v * uv) / determinant, .per_item = (v * uu - u * uv) / determinant};
    if (line.fixed < 0) {
        return through_zero;
    }
    return line.per_item < 0 ? StageCost{.fixed = u / uu, .per_item = 0} : line;
}

std::uint32_t best_rate(std::span<const CostSample> samples) {
    expects(!samples.empty(), "cost model: no samples");
    const auto rate = [](const CostSample& s) { return s.items / std::max(s.seconds, 1e-9); };
    return std::ranges::max_element(samples, {}, rate)->items;
}

double predict_seconds(const CostModel& costs, std::uint64_t items, std::uint32_t chunk_items, std::uint32_t devices) {
    expects(items > 0 && chunk_items > 0 && devices > 0, "cost model: a job without items or devices");
    const std::uint64_t chunks = 1 + (items - 1) / chunk_items;
    const std::uint64_t rounds = 1 + (chunks - 1) / devices;
    const bool ends_with_short_chunk_alone = (chunks - 1) % devices == 0;
    const PredictedStages whole(costs, static_cast<double>(std::min<std::uint64_t>(chunk_items, items)));
    const PredictedStages last(costs, static_cast<double>(items - (chunks - 1) * chunk_items));
    return static_cast<double>(rounds - 1) * whole.slowest() + (ends_with_short_chunk_alone ? last : whole).sum();
}

ChunkChoice choose_chunk(const CostModel& costs, const ChunkJob& job) {
    expects(costs.whole_items > 0 && job.least_items > 0 && job.most_items >= job.least_items,
            "cost model: a chunk of no items");
    expects(!job.devices.empty(), "cost model: no devices");
    const SizeRange range = allowed(costs, job);
    const std::uint64_t items = std::max<std::uint64_t>(job.items, 1);
    const std::vector<std::uint32_t> sizes = candidates(range, costs.whole_items, items);
    const std::vector<double> losses = worst_losses(costs, sizes, items, job.devices);
    const double acceptable = *std::ranges::min_element(losses) + indifference;
    const auto found = std::ranges::find_if(losses, [&](double loss) { return loss <= acceptable; });
    const std::uint32_t chosen = sizes[static_cast<std::size_t>(found - losses.begin())];
    const auto n = static_cast<double>(chosen);
    const std::string why =
        chosen >= items ? "the whole job"
        : chosen == sizes.back()
            ? std::string(range.bound_by)
            : fmt::format("a run at most {:.1f} % longer than with the best size on {} device{}", 100 * *found,
                          fmt::join(job.devices, ", "), job.devices.back() == 1 ? "" : "s");
    return {.items = chosen,
            .depth = choose_depth(costs, n),
            .reason = fmt::format("chunks of {} items, {}: compute takes {}, {:.1f} % of that fixed; copies {:.0f} µs",
                                  chosen, why, text(costs.compute),
                                  100 * costs.compute.fixed / std::max(costs.compute.of(n), 1e-9),
                                  1e6 * (costs.upload.of(n) + costs.download.of(n)))};
}

}  // namespace sluice
