#include "tools/runtime/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/input/item_source.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/modes.hpp"
#include "core/weights/packed_weights.hpp"
#include "scheduler/cost_model.hpp"
#include "scheduler/measure_costs.hpp"
#include "scheduler/memory_plan.hpp"
#include "tools/runtime/cost_cache.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/program_facts.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t most_chunk_items = 1U << 20U;  // limit of pipeline.chunk_items
constexpr std::uint32_t most_measured_items = 1U << 18U;
constexpr std::uint64_t most_measured_bytes = std::uint64_t{32} << 20U;  // their pages are locked, which takes time
constexpr std::uint32_t least_sample_items = 256;
constexpr std::uint64_t slots = 4;  // of chunks in flight, besides the model's own memory
constexpr std::uint64_t growth_worth_measuring = 4;

/// Numbers of devices that a chunk size has to suit where it may change a score's last digit: the output must not
/// depend on ranks. On more GPUs than a node's, the last round of chunks ends somewhat less evenly.
constexpr std::array<std::uint32_t, 4> usual_devices{1, 2, 4, 8};

/// The largest power of two whose model and chunks take at most half of the GPU's memory.
std::uint32_t items_for_memory(const LoadedApp& app, const IoShape& shape, std::uint64_t gpu_bytes) {
    std::uint32_t items = most_chunk_items;
    while (items > 1 &&
           app.least_room(items) + slots * items * (std::uint64_t{shape.input_bytes} + shape.output_bytes) >
               gpu_bytes / 2) {
        items /= 2;
    }
    return items;
}

/// A sample for chunks of up to so many bytes, in which it is repeated.
std::string for_chunks_of(std::size_t bytes, std::string sample, const LoadedApp& app) {
    const std::size_t once = sample.size();
    expects(once != 0, "tune: a sample of no items");
    sample.resize(std::max(bytes, once));
    const auto items = std::as_writable_bytes(std::span(sample));
    std::uint32_t copy = 1;
    for (std::size_t at = once; at < items.size(); at += once, ++copy) {
        const std::span<std::byte> to = items.subspan(at, std::min(once, items.size() - at));
        std::ranges::copy(items.first(to.size()), to.begin());
        app.vary_copies(to, copy);
    }
    return sample;
}

MeasuredCosts measure(const PreparedJob& job) {
    const std::unique_ptr<Device> device = make_cuda_device(0);
    const JobPlan& plan = job.plan;
    const Topology topology = read_machine(TopologyDetail::cpus).topology;
    const std::unique_ptr<LoadedApp> app = job.app->load(job.weights, plan.precision, plan.device);
    pack_alone(*app, usable_cores(topology, topology.mask, read_quota_cpus()));
    const MemoryInfo memory = device->memory().value();
    const IoShape shape = job.codec->shape();
    const ChunkLimits limits = app->chunk_limits();
    const std::uint32_t most = std::clamp(limits.most, 1U, items_for_memory(*app, shape, memory.all_bytes));
    const std::uint32_t least = std::clamp(limits.least, 1U, most);
    const std::uint64_t of_bytes = most_measured_bytes / (std::uint64_t{shape.input_bytes} + shape.output_bytes);
    const auto few = static_cast<std::uint32_t>(std::min<std::uint64_t>(of_bytes, most_measured_items));
    const std::uint32_t measured = std::min(most, std::max(least, few));
    const MemoryNeeds needs{.shape = shape,
                            .chunk_items = measured,
                            .depth = slots,
                            .work_bytes = app->least_room(measured),
                            .weight_bytes = app->weights() == nullptr ? 0 : app->weights()->bytes()};
    const std::unique_ptr<Model> model = app->make_model(*device, room_on_device(needs, memory, 1, device->name()));
    check_shape("model", model->shape(), shape);
    const std::uint64_t items = app->sample_items() != 0 ? job.source->count() : job.source->known().count;
    std::string sample =
        read_sample(*job.source, items, std::max(app->sample_items(), least_sample_items), shape.input_bytes);
    if (app->sample_items() != 0) {
        model->calibrate(*device->make_stream({}), std::as_bytes(std::span(sample)));
    }
    const std::string timed = for_chunks_of(std::size_t{measured} * shape.input_bytes, std::move(sample), *app);
    return {.costs = measure_costs(*device, *model, std::as_bytes(std::span(timed)),
                                   {.limits = limits, .most_items = measured, .job_items = plan.items}),
            .job_items = plan.items,
            .least_items = least,
            .most_items = most};
}

struct Found {
    MeasuredCosts costs;
    std::string origin;
};

/// Whether `kept` suits a job of `items`: a much larger one may be worth further measurement.
bool serves(const MeasuredCosts& kept, std::uint64_t items) {
    return kept.costs.is_complete || items / growth_worth_measuring <= kept.job_items;
}

Found find_or_measure(const PreparedJob& job) {
    const std::string gpu = cuda_device_model(0);
    const ProgramFacts& program = program_facts();
    const std::string key =  // FLOP per item reflects the model's size
        fmt::format("{} | {} FLOP | {} | {} | {} | {} {}", job.plan.app, job.flop_per_item, cuda_device_kind(0),
                    name_of(job.plan.precision), job.plan.settings, program.version, program.commit);
    const auto file = cost_cache_file();
    const auto kept = file ? find_costs(*file, key) : std::nullopt;
    if (kept && serves(*kept, job.plan.items)) {
        return {*kept, fmt::format("measured earlier on {}", gpu)};
    }
    const Instant begin = Clock::now();
    Found found{measure(job), {}};
    const double took = Seconds(Clock::now() - begin).count();
    const std::string why_not =
        file ? keep_costs(*file, key, found.costs) : "neither XDG_CACHE_HOME nor HOME is an absolute path";
    found.origin = why_not.empty()
                       ? fmt::format("measured on {} in {:.1f} s, cached in {}", gpu, took, file->native())
                       : fmt::format("measured on {} in {:.1f} s, not cached for the next run: {}", gpu, took, why_not);
    return found;
}

}  // namespace

void tune(PreparedJob& job, std::uint32_t devices) {
    JobPlan& plan = job.plan;
    const JobConfig::Pipeline& wanted = job.job.pipeline;
    if (plan.device != DeviceKind::cuda || plan.items == 0 || wanted.chunk_items) {
        return;
    }
    if (job.begun_with.chunk_items && is_published(job.job.output)) {
        return;  // nothing is left to compute
    }
    if (cuda_device_count() == 0) {
        static_cast<void>(make_cuda_device(0));  // throws the reason
    }
    const Found found = find_or_measure(job);
    const std::span<const std::uint32_t> suited = job.app->is_batch_invariant(plan.precision)
                                                      ? std::span(&devices, 1)
                                                      : std::span<const std::uint32_t>(usual_devices);
    const ChunkChoice choice = choose_chunk(found.costs.costs, {.items = plan.items,
                                                                .least_items = found.costs.least_items,
                                                                .most_items = found.costs.most_items,
                                                                .devices = suited});
    plan.chunk_items = is_chunk_size_measured(job) ? choice.items : plan.chunk_items;
    if (!wanted.depth && wanted.mode == PipelineMode::overlap) {
        plan.depth = choice.depth;
    }
    job.chunk_note = job.begun_with.chunk_items ? std::string("as when the run began")
                                                : fmt::format("{} ({})", choice.reason, found.origin);
}

}  // namespace sluice
