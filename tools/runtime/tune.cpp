#include "tools/runtime/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/clock.hpp"
#include "core/device/cuda.hpp"
#include "core/input/sample.hpp"
#include "core/machine/build_id.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/modes.hpp"
#include "scheduler/cost_model.hpp"
#include "scheduler/measure_costs.hpp"
#include "tools/runtime/cost_cache.hpp"
#include "tools/runtime/job_output.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t most_chunk_items = 16384;  // more hides nothing that this many do not
constexpr std::uint32_t most_measured_items = 4096;
constexpr std::uint32_t least_sample_items = 256;
constexpr std::uint64_t slots = 4;  // for the chunks in flight beside the model's own memory

/// The largest power of two whose model and chunks take half of the GPU's memory.
std::uint32_t items_for_memory(const LoadedApp& app, const IoShape& shape, std::uint64_t gpu_bytes) {
    std::uint32_t items = most_chunk_items;
    while (items > 1 &&
           app.work_bytes(items) + slots * items * (std::uint64_t{shape.input_bytes} + shape.output_bytes) >
               gpu_bytes / 2) {
        items /= 2;
    }
    return items;
}

MeasuredCosts measure(const PreparedJob& job) {
    const std::unique_ptr<Device> device = make_cuda_device(0);
    const JobPlan& plan = job.plan;
    const Topology topology = read_machine(TopologyDetail::cpus).topology;
    const std::unique_ptr<LoadedApp> app = load_alone(*job.app, job.weights, plan.precision, plan.device,
                                                      usable_cores(topology, topology.mask, read_quota_cpus()));
    const std::uint32_t most = items_for_memory(*app, job.codec->shape(), cuda_memory_bytes(0));
    const std::uint32_t measured = std::min(most, most_measured_items);
    const std::unique_ptr<Model> model = app->make_model(*device, measured);
    const std::string sample =
        read_sample(*job.source, std::max(app->sample_items(), least_sample_items), job.codec->shape().input_bytes);
    const auto bytes = std::as_bytes(std::span(sample));
    if (app->sample_items() != 0) {
        model->calibrate(*device->make_stream({}), bytes);
    }
    return {.costs = measure_costs(*device, *model, bytes, measured), .most_items = most};
}

struct Found {
    MeasuredCosts costs;
    std::string origin;
};

Found find_or_measure(const PreparedJob& job) {
    const std::string gpu = cuda_device_model(0);
    const std::string key = fmt::format("{} | {} | {} | {} | {}", job.plan.app, gpu, name_of(job.plan.precision),
                                        build_id(), job.plan.settings);
    const auto file = cost_cache_file();
    if (const auto kept = file ? find_costs(*file, key) : std::nullopt) {
        return {*kept, fmt::format("measured earlier on {}", gpu)};
    }
    const Instant begin = Clock::now();
    Found found{measure(job), {}};
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string why_not =
        file ? keep_costs(*file, key, found.costs) : "neither XDG_CACHE_HOME nor HOME is an absolute path";
    found.origin = why_not.empty()
                       ? fmt::format("measured on {} in {:.1f} s, cached in {}", gpu, took, file->native())
                       : fmt::format("measured on {} in {:.1f} s, not cached for the next run: {}", gpu, took, why_not);
    return found;
}

}  // namespace

void tune(PreparedJob& job) {
    JobPlan& plan = job.plan;
    const JobConfig::Pipeline& wanted = job.job.pipeline;
    if (plan.device != DeviceKind::cuda || cuda_device_count() == 0 || plan.items == 0 || wanted.chunk_items) {
        return;
    }
    if (job.kept_chunk_items && is_published(job.job.output)) {
        return;  // nothing is left to compute
    }
    const Found found = find_or_measure(job);
    const ChunkChoice choice = choose_chunk(found.costs.costs, plan.items, found.costs.most_items);
    plan.chunk_items = job.kept_chunk_items ? plan.chunk_items : choice.items;
    if (!wanted.depth && wanted.mode == PipelineMode::overlap) {
        plan.depth = choice.depth;
    }
    plan.chunk_note = job.kept_chunk_items ? std::string("as when the run began")
                                           : fmt::format("{} ({})", choice.reason, found.origin);
}

}  // namespace sluice
