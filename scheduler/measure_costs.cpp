#include "scheduler/measure_costs.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/model_runner.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t finest_step = 16;  // in the search for whole waves
constexpr std::uint32_t search_from = 64;
constexpr std::uint32_t search_to = 512;
constexpr int repeats = 3;

double seconds(const Event& begun, const Event& ended) {
    return std::chrono::duration<double>(ended.completed_at() - begun.completed_at()).count();
}

/// Times batches of the sample, which is repeated as often as there is room.
class Bench {
public:
    Bench(Device& device, Model& model, std::span<const std::byte> sample, std::uint32_t most_items)
        : runner_(device, model, most_items) {
        expects(sample.size() >= model.shape().input_bytes, "costs: no item to measure with");
        const std::span<std::byte> to = runner_.items();
        for (std::size_t at = 0; at < to.size(); at += sample.size()) {
            const std::size_t count = std::min(sample.size(), to.size() - at);
            std::ranges::copy(sample.first(count), to.subspan(at).begin());
        }
    }

    struct Times {
        CostSample upload;
        CostSample compute;
        CostSample download;
    };

    /// The least of each stage's times: what disturbs makes them longer alone.
    Times time(std::uint32_t items) {
        Times times{{items, 1e9}, {items, 1e9}, {items, 1e9}};
        std::unique_ptr<CapturedWork> captured;
        for (int i = 0; i <= repeats; ++i) {
            const std::array<double, 3> once = time_once(items, captured);
            if (i == 0) {  // loads the kernels and captures
                continue;
            }
            CostSample* const to[] = {&times.upload, &times.compute, &times.download};
            for (std::size_t stage = 0; stage < once.size(); ++stage) {
                to[stage]->seconds = std::min(to[stage]->seconds, once[stage]);
            }
        }
        return times;
    }

private:
    std::array<double, 3> time_once(std::uint32_t items, std::unique_ptr<CapturedWork>& captured) {
        const ModelRunner::Events at = runner_.enqueue(items, &captured);
        at.downloaded.wait();
        return {seconds(at.begun, at.uploaded), seconds(at.uploaded, at.computed), seconds(at.computed, at.downloaded)};
    }

    ModelRunner runner_;
};

}  // namespace

CostModel measure_costs(Device& device, Model& model, std::span<const std::byte> sample, std::uint32_t most_items) {
    expects(most_items > 0, "costs: a chunk of no items");
    Bench bench(device, model, sample, most_items);
    std::vector<CostSample> fine;
    for (std::uint32_t items = std::min(search_from, most_items); items <= std::min(search_to, most_items);
         items += finest_step) {
        fine.push_back(bench.time(items).compute);
    }
    CostModel costs{.upload = {}, .compute = {}, .download = {}, .whole_items = best_rate(fine)};
    std::vector<CostSample> upload;
    std::vector<CostSample> compute;
    std::vector<CostSample> download;
    for (std::uint64_t items = costs.whole_items; items <= most_items; items *= 2) {
        const Bench::Times times = bench.time(static_cast<std::uint32_t>(items));
        upload.push_back(times.upload);
        compute.push_back(times.compute);
        download.push_back(times.download);
    }
    costs.upload = fit_cost(upload);
    costs.compute = fit_cost(compute);
    costs.download = fit_cost(download);
    return costs;
}

}  // namespace sluice
