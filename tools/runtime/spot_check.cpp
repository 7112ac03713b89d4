#include "tools/runtime/spot_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/commit/manifest.hpp"
#include "core/commit/published_rows.hpp"
#include "core/commit/run_identity.hpp"
#include "core/device/cuda.hpp"
#include "core/device/model_runner.hpp"
#include "core/error.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/output/row_encoder.hpp"
#include "core/sync/work_team.hpp"
#include "core/text/wording.hpp"
#include "core/weights/packed_weights.hpp"
#include "scheduler/memory_plan.hpp"
#include "tools/runtime/choose_instructions.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/item_sample.hpp"
#include "tools/runtime/job_file.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/progress.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_different = 1000;
constexpr std::size_t most_shown_bytes = 80;
constexpr std::size_t shown_before = 16;  // bytes that are the same

void require_same_identity(const RunPaths& paths, const PreparedJob& job) {
    const std::optional<RunIdentity> was = read_run_identity(paths);
    expects(was.has_value(), "spot_check: the output was verified");
    const std::vector<std::string> differing = differences(*was, identity_of(job));
    if (!differing.empty()) {
        throw Error(ExitCode::configuration,
                    {.id = "E-CKP-195",
                     .where = escaped(paths.output.native()),
                     .what = fmt::format("cannot be computed again: not all is as it was for its run; differences: {}",
                                         fmt::join(differing, ", ")),
                     .hint = "bring back what has changed, or compute it again where the run was"});
    }
}

/// The run's own job, on its own kind of device.
PreparedJob prepare_again(const RunPaths& paths, const Apps& apps) {
    JobConfig config = read_job(kept_job(paths, {}, apps), apps);
    const RunChoices run = choices_of_run(config.output);
    if (run.device) {
        config.run.device = enum_of<DeviceKind>(*run.device).value_or(config.run.device);
    }
    if (config.run.device == DeviceKind::cuda && cuda_device_count() == 0) {
        throw Error(ExitCode::unavailable,
                    {.id = "E-CKP-197",
                     .where = escaped(paths.output.native()),
                     .what = fmt::format("its run computed on {}, and here is no GPU: {}",
                                         escaped(run.gpu.value_or("GPUs")), why_no_cuda()),
                     .hint = "compute its items again where there is such a GPU, by a sluice built with the preset "
                             "'cuda'"});
    }
    PreparedJob job = prepare_job(std::move(config), apps);
    require_instructions_of_run(job);
    require_same_identity(paths, job);
    return job;
}

/// Items that are computed together, and their published rows.
struct Batch {
    std::uint32_t chunk_items = 0;  // of the chunks that they are from
    std::vector<std::uint64_t> items{};
    std::vector<std::string> rows{};
};

/// What of a row is shown of a difference at byte `at`.
std::string shown(std::string_view row, std::size_t at) {
    if (row.empty()) {
        return "nothing";
    }
    const std::size_t begin = at > shown_before ? at - shown_before : 0;
    const std::string_view rest = row.substr(std::min(begin, row.size()));
    const bool ends = rest.size() <= most_shown_bytes;
    std::string text = quoted(rest.substr(0, rest.ends_with('\n') && ends ? rest.size() - 1 : most_shown_bytes));
    return (begin == 0 ? "" : "…") + text + (ends ? "" : "…");
}

/// Several threads take batches, in the order of their items.
class SpotChecker {
public:
    SpotChecker(const RunPaths& paths, const PreparedJob& job, const SpotCheckOptions& options)
        : SpotChecker(paths, job, options, read_manifest(paths).value()) {}

    SpotCheck run();

private:
    SpotChecker(const RunPaths& paths, const PreparedJob& job, const SpotCheckOptions& options,
                const Manifest& manifest)
        : job_(job),
          grid_(manifest.items(), job.plan.chunk_items),
          encoder_(job.job.output.format, *job.codec),
          shows_progress_(options.progress),
          rows_(paths, manifest, job.job.output.format, encoder_),
          sample_(manifest.items(), manifest.failed_items, options.items, options.seed) {
        found_.seed = options.seed;
        found_.recomputed = sample_.wanted();
        next_ = sample_.next();
    }

    void load(std::uint32_t cores);
    void compute(std::uint32_t device);
    [[nodiscard]] std::unique_ptr<Model> make_model(Device& device) const;
    [[nodiscard]] std::optional<Batch> take_batch();
    [[nodiscard]] std::span<const std::byte> read(const Batch& batch, std::span<std::byte> to) const;
    void note(std::uint64_t item, std::string_view published, std::string_view now);

    const PreparedJob& job_;
    ChunkGrid grid_;
    RowEncoder encoder_;
    std::unique_ptr<LoadedApp> app_;
    std::string calibration_;  // items for Model::calibrate()
    MemoryNeeds needs_;
    std::uint64_t host_bytes_ = 0;
    bool shows_progress_;
    std::atomic<std::uint64_t> done_ = 0;  // items

    std::mutex mutex_;  // of all below
    PublishedRows rows_;
    ItemSample sample_;
    std::optional<std::uint64_t> next_;
    bool has_failed_ = false;
    std::map<std::uint64_t, DifferentItem> different_;
    SpotCheck found_;
};

SpotCheck SpotChecker::run() {
    if (next_) {
        const Topology topology = read_machine(TopologyDetail::cpus).topology;
        const std::uint32_t cores = usable_cores(topology, topology.mask, read_quota_cpus());
        load(cores);
        std::optional<Progress> progress;
        if (shows_progress_) {
            progress.emplace([this] { return ItemCount{.done = done_, .total = found_.recomputed}; });
        }
        WorkTeam(static_cast<std::uint32_t>(needs_.devices) - 1)
            .run(static_cast<std::uint32_t>(needs_.devices), [this](std::uint32_t device) { compute(device); });
    }
    for (auto& [item, different] : different_) {
        found_.different.push_back(std::move(different));
    }
    return std::move(found_);
}

void SpotChecker::load(std::uint32_t cores) {
    const JobPlan& plan = job_.plan;
    if (plan.device == DeviceKind::host) {
        limit_host_instructions(plan.instructions);
    }
    app_ = job_.app->load(job_.weights, plan.precision, plan.device);
    pack_alone(*app_, cores);
    const IoShape shape = job_.codec->shape();
    if (app_->sample_items() != 0) {
        calibration_ = read_sample(*job_.source, job_.source->count(), app_->sample_items(), shape.input_bytes);
    }
    const std::uint64_t batches = (found_.recomputed - 1) / plan.chunk_items + 1;
    needs_ = {.shape = shape,
              .chunk_items = plan.chunk_items,
              .devices = plan.device == DeviceKind::host ? std::min<std::uint64_t>(cores, batches) : 1,
              .work_bytes = app_->least_room(plan.chunk_items),
              .weight_bytes = app_->weights() == nullptr ? 0 : app_->weights()->bytes()};
    host_bytes_ = read_available_memory();
    check_memory(plan_memory(needs_), plan.device, host_bytes_);
}

void SpotChecker::compute(std::uint32_t device_number) {
    try {
        const std::unique_ptr<Device> device = make_device(job_.plan.device, device_number);
        const std::unique_ptr<Model> model = make_model(*device);
        ModelRunner runner(*device, *model, job_.plan.chunk_items);
        RowEncoder encoder(job_.job.output.format, *job_.codec);
        std::vector<std::byte> inputs(std::size_t{job_.plan.chunk_items} * needs_.shape.input_bytes);
        while (const std::optional<Batch> batch = take_batch()) {
            const std::span<const std::byte> results = runner.run(read(*batch, inputs));
            for (std::size_t i = 0; i < batch->items.size(); ++i) {
                const std::uint64_t item = batch->items[i];
                const std::size_t bytes = needs_.shape.output_bytes;
                const auto row = encoder.encode(item, 1, results.subspan(i * bytes, bytes)).bytes;
                const std::string_view now(reinterpret_cast<const char*>(row.data()), row.size());
                if (now != batch->rows[i]) {
                    note(item, batch->rows[i], now);
                }
            }
            done_ += batch->items.size();
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        has_failed_ = true;  // the others need not go on
        throw;
    }
}

std::unique_ptr<Model> SpotChecker::make_model(Device& device) const {
    const std::optional<MemoryInfo> own = device.memory();
    std::unique_ptr<Model> model = app_->make_model(
        device, own ? room_on_device(needs_, *own, 1, device.name()) : room_on_host(needs_, host_bytes_));
    check_shape("model", model->shape(), needs_.shape);
    if (!calibration_.empty()) {
        model->calibrate(*device.make_stream({}), std::as_bytes(std::span(calibration_)));
    }
    return model;
}

/// nullopt: all are taken, or a device has failed.
std::optional<Batch> SpotChecker::take_batch() {
    const std::lock_guard lock(mutex_);
    const auto size_at = [&](std::uint64_t item) { return grid_.at(item / grid_.chunk_items()).count; };
    if (!next_ || has_failed_) {
        return std::nullopt;
    }
    Batch batch{.chunk_items = size_at(*next_)};
    while (next_ && batch.items.size() < batch.chunk_items && size_at(*next_) == batch.chunk_items) {
        batch.items.push_back(*next_);
        batch.rows.emplace_back(rows_.row(*next_));
        next_ = sample_.next();
    }
    return batch;
}

/// The batch's items, one after the other, and further ones up to the run's chunk size, by which a model may choose how
/// it computes.
std::span<const std::byte> SpotChecker::read(const Batch& batch, std::span<std::byte> to) const {
    const std::size_t bytes = needs_.shape.input_bytes;
    for (std::size_t i = 0; i < batch.items.size();) {
        std::size_t end = i + 1;
        while (end < batch.items.size() && batch.items[end] == batch.items[i] + (end - i)) {
            ++end;
        }
        job_.source->read(batch.items[i], static_cast<std::uint32_t>(end - i),
                          to.subspan(i * bytes, (end - i) * bytes));
        i = end;
    }
    const JobPlan& plan = job_.plan;
    const bool any_size_will_do = plan.device == DeviceKind::cuda && job_.app->is_batch_invariant(plan.precision);
    const std::size_t read = batch.items.size() * bytes;
    const std::size_t all = any_size_will_do ? read : batch.chunk_items * bytes;
    for (std::size_t at = read; at < all; at += bytes) {
        std::ranges::copy(to.subspan(at - read, bytes), to.subspan(at).begin());
    }
    return to.first(all);
}

void SpotChecker::note(std::uint64_t item, std::string_view published, std::string_view now) {
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(published, now).in1 - published.begin());
    const std::lock_guard lock(mutex_);
    ++found_.differ;
    different_[item] = {.item = item, .published = shown(published, at), .now = shown(now, at)};
    if (different_.size() > most_different) {
        different_.erase(std::prev(different_.end()));
    }
}

}  // namespace

SpotCheck spot_check(const RunPaths& paths, const Apps& apps, const SpotCheckOptions& options) {
    const PreparedJob job = prepare_again(paths, apps);
    SpotCheck found = SpotChecker(paths, job, options).run();
    job.source->check_content();
    return found;
}

void require_same(const SpotCheck& found, const RunPaths& paths) {
    if (found.differ == 0) {
        return;
    }
    throw Error(ExitCode::checkpoint_damaged,
                {.id = "E-CKP-194",
                 .where = escaped(paths.output.native()),
                 .what = fmt::format("{} of {} computed again became different ones, the first of them item {}",
                                     found.differ, count_of(found.recomputed, "item"), found.different.front().item),
                 .hint = fmt::format("compare again with --seed {}, elsewhere too: if the same items differ alike, the "
                                     "output is wrong, else what computes here",
                                     found.seed)});
}

}  // namespace sluice
