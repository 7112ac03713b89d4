#include "scheduler/measure_costs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/device/model_runner.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t finest_step = 16;  // in the search for whole waves
constexpr std::uint32_t search_from = 64;
constexpr std::uint32_t search_to = 512;
constexpr double share_of_search = 0.5;   // of the budget that is left
constexpr double share_of_repeats = 0.1;  // the same, for one size
constexpr int most_repeats = 3;
constexpr double steady_seconds = 0.01;  // slower chunks need no warm-up
constexpr double slow_seconds = 0.1;     // slower chunks are timed once
constexpr double steepest = 3;           // largest exponent in time ~ items^p
constexpr double share_of_job = 0.02;    // time that one size may take beyond the budget
constexpr std::uint64_t parts_of_job = 16;
constexpr double rising_rate = 0.75;  // largest exponent at which throughput counts as rising
constexpr double predicted_within = 0.03;
constexpr double small_fixed_share = 1.0 / 40;
constexpr std::size_t fewest_of_a_line = 3;

struct TimedSize {
    std::uint32_t items;
    StageTimes times;
};

StageTimes least_of(const StageTimes& a, const StageTimes& b) {
    return {.upload = std::min(a.upload, b.upload),
            .compute = std::min(a.compute, b.compute),
            .download = std::min(a.download, b.download),
            .elapsed = std::min(a.elapsed, b.elapsed)};
}

/// Fits the larger sizes only: small ones do not fill a device.
CostModel fit_costs(std::span<const TimedSize> sizes, std::uint32_t whole_items) {
    const std::size_t used = std::min(sizes.size(), std::max(fewest_of_a_line, (sizes.size() + 1) / 2));
    std::vector<CostSample> upload;
    std::vector<CostSample> compute;
    std::vector<CostSample> download;
    for (const TimedSize& size : sizes.last(used)) {
        upload.push_back({size.items, size.times.upload});
        compute.push_back({size.items, size.times.compute});
        download.push_back({size.items, size.times.download});
    }
    return {.upload = fit_cost(upload),
            .compute = fit_cost(compute),
            .download = fit_cost(download),
            .whole_items = whole_items,
            .largest_measured = sizes.back().items};
}

class Measurement {
public:
    Measurement(FunctionRef<StageTimes(std::uint32_t)> time_chunk, const MeasuringOptions& options)
        : time_chunk_(time_chunk),
          left_(options.budget),
          job_items_(options.job_items),
          multiple_(std::clamp<std::uint32_t>(options.limits.multiple, 1, options.most_items)),
          most_(std::clamp(options.limits.most, multiple_, options.most_items)) {
        const std::uint64_t wanted = std::max<std::uint64_t>(options.limits.least, 1);
        const std::uint64_t multiples = (wanted + multiple_ - 1) / multiple_ * multiple_;
        least_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(multiples, most_));
    }

    [[nodiscard]] CostModel run() {
        time_least();
        std::uint32_t whole = multiple_;
        if (grow(4 * std::uint64_t{least_}, std::min(search_from, most_), 4)) {
            const std::optional<std::uint32_t> found = multiple_ == 1 ? search() : std::nullopt;
            const std::vector<TimedSize> small = found ? std::exchange(sizes_, {}) : std::vector<TimedSize>();
            whole = found.value_or(multiple_);
            is_complete_ = grow(found ? whole : next_size(), most_, 2);
            sizes_ = sizes_.empty() ? small : sizes_;
        }
        CostModel costs = fit_costs(sizes_, whole);
        costs.is_complete = is_complete_;
        return costs;
    }

private:
    StageTimes time(std::uint32_t items) {
        const StageTimes times = time_chunk_(items);
        left_ -= times.elapsed;
        return times;
    }

    StageTimes time(std::uint32_t items, int repeats) {
        StageTimes least = time(items);
        for (int i = 1; i < repeats; ++i) {
            least = least_of(least, time(items));
        }
        return least;
    }

    /// 0: not even one repeat fits the budget.
    [[nodiscard]] int repeats_of(double seconds) const {
        return (1 + most_repeats) * seconds <= share_of_repeats * left_ ? most_repeats : 2 * seconds <= left_ ? 1 : 0;
    }

    void note(std::uint32_t items, const StageTimes& times) {
        sizes_.push_back({items, times});
        before_ = std::exchange(largest_, sizes_.back());
    }

    void time_least() {
        StageTimes times = time(least_);  // also loads the kernels
        const int repeats = repeats_of(times.elapsed);
        note(least_, repeats == 0 ? times : time(least_, repeats));
    }

    /// Exponent of the time's growth with the items, from the last two sizes; nullopt: fewer than two.
    [[nodiscard]] std::optional<double> power() const {
        if (before_.items == 0 || before_.times.elapsed <= 0) {
            return std::nullopt;
        }
        return std::log(largest_.times.elapsed / before_.times.elapsed) /
               std::log(static_cast<double>(largest_.items) / before_.items);
    }

    [[nodiscard]] double predicted(std::uint64_t items, double power) const {
        const double growth = std::max(1.0, static_cast<double>(items) / largest_.items);
        return largest_.times.elapsed * std::pow(growth, std::min(power, steepest));
    }

    /// Assumes at least proportional growth.
    [[nodiscard]] double predicted(std::uint64_t items) const {
        return predicted(items, std::max(1.0, power().value_or(1)));
    }

    /// Whether a larger size takes a small part of the job while throughput still rises. After the first size no trend
    /// is known: it may hardly use the device.
    [[nodiscard]] bool is_worth_its_time(std::uint64_t items) const {
        const double trend = std::max(0.0, power().value_or(0));
        const double job = largest_.times.elapsed * static_cast<double>(job_items_) / largest_.items;
        return trend <= rising_rate && items <= job_items_ / parts_of_job &&
               predicted(items, trend) <= share_of_job * job;
    }

    /// Doubling gives the most information, quadrupling takes the least time.
    [[nodiscard]] std::uint64_t next_size() const {
        const std::uint64_t items = largest_.items;
        return repeats_of(predicted(2 * items)) == most_repeats ? 2 * items : 4 * items;
    }

    /// Returns false if it would take too long.
    [[nodiscard]] bool try_size(std::uint32_t items) {
        const double expected = predicted(items);
        const int repeats = expected < slow_seconds ? repeats_of(expected) : 0;
        if (repeats != 0) {
            static_cast<void>(time(items));  // also captures
            note(items, time(items, repeats));
        } else if (expected >= steady_seconds && (expected <= left_ || is_worth_its_time(items))) {
            note(items, time(items));
        } else {
            return false;
        }
        return true;
    }

    /// Times sizes from `from` to `to`, each `factor` times the one before, or four times if time is short, until the
    /// line fits. Returns false if time ran out.
    [[nodiscard]] bool grow(std::uint64_t from, std::uint32_t to, std::uint32_t factor) {
        for (std::uint64_t items = from; items <= to; items = std::max(factor * items, next_size())) {
            const bool is_line = sizes_.size() >= fewest_of_a_line;
            const StageCost line = is_line ? fit_costs(sizes_, 1).compute : StageCost();
            if (!try_size(static_cast<std::uint32_t>(items))) {
                return false;
            }
            const double took = sizes_.back().times.compute;
            const double error = std::abs(line.of(static_cast<double>(items)) - took);
            if (is_line && error <= predicted_within * took && line.fixed <= small_fixed_share * took) {
                break;
            }
        }
        return true;
    }

    /// The number of items with the highest throughput; nullopt if the search would take too long.
    [[nodiscard]] std::optional<std::uint32_t> search() {
        std::vector<std::uint32_t> sizes;
        double expected = 0;
        for (std::uint32_t items = std::max(search_from, least_); items <= std::min(search_to, most_);
             items += finest_step) {
            sizes.push_back(items);
            expected += (1 + most_repeats) * predicted(items);
        }
        if (sizes.empty() || expected > share_of_search * left_) {
            return std::nullopt;
        }
        std::vector<CostSample> samples;
        for (const std::uint32_t items : sizes) {
            static_cast<void>(time(items));
            samples.push_back({items, time(items, most_repeats).compute});
        }
        return best_rate(samples);
    }

    FunctionRef<StageTimes(std::uint32_t)> time_chunk_;
    double left_;  // of the budget; negative once overspent
    std::uint64_t job_items_;
    bool is_complete_ = false;
    std::uint32_t multiple_;
    std::uint32_t most_;
    std::uint32_t least_ = 1;
    std::vector<TimedSize> sizes_;  // ascending
    TimedSize before_{};
    TimedSize largest_{};
};

double seconds(const Event& begun, const Event& ended) {
    return Seconds(ended.completed_at() - begun.completed_at()).count();
}

}  // namespace

CostModel measure_costs(FunctionRef<StageTimes(std::uint32_t)> time_chunk, const MeasuringOptions& options) {
    expects(options.most_items > 0, "costs: a chunk of no items");
    return Measurement(time_chunk, options).run();
}

CostModel measure_costs(Device& device, Model& model, std::span<const std::byte> sample,
                        const MeasuringOptions& options) {
    expects(sample.size() >= model.shape().input_bytes, "costs: no item to measure with");
    ModelRunner runner(device, model, options.most_items);
    const std::span<std::byte> to = runner.items();
    for (std::size_t at = 0; at < to.size(); at += sample.size()) {
        const std::size_t count = std::min(sample.size(), to.size() - at);
        std::ranges::copy(sample.first(count), to.subspan(at).begin());
    }
    std::unique_ptr<CapturedWork> captured;
    std::uint32_t captured_items = 0;
    const auto time_chunk = [&](std::uint32_t items) -> StageTimes {
        if (std::exchange(captured_items, items) != items) {
            captured.reset();
        }
        const Instant begin = Clock::now();
        const ModelRunner::Events at = runner.enqueue(items, &captured);
        at.downloaded.wait();
        return {.upload = seconds(at.begun, at.uploaded),
                .compute = seconds(at.uploaded, at.computed),
                .download = seconds(at.computed, at.downloaded),
                .elapsed = Seconds(Clock::now() - begin).count()};
    };
    return measure_costs(time_chunk, options);
}

}  // namespace sluice
