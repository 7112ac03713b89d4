#include "tools/runtime/job_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "core/config/config.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/json_types.hpp"
#include "core/process/fault_point.hpp"
#include "scheduler/chunk_size.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/output_places.hpp"

namespace sluice {
namespace {

void check_precision(const JobConfig& job, const OpenApp& app, DeviceKind device) {
    const JobConfig::Run& run = job.run;
    const bool uses_fp8 = run.precision == Precision::fp8 || run.precision == Precision::fp16x2;
    if (uses_fp8 && !app.supports_fp8()) {
        throw Error(ExitCode::configuration,
                    {.id = "E-CFG-105",
                     .where = "run.precision",
                     .what = fmt::format("got \"{}\", in which {} does not compute", name_of(run.precision), job.app),
                     .hint = device == DeviceKind::host ? "leave it out" : "set \"bf16\", or leave it out"});
    }
    if (device == DeviceKind::host && run.precision != Precision::fp32 && run.precision != Precision::bf16) {
        const std::string no_gpu = why_no_cuda();
        throw Error(
            ExitCode::configuration,
            {.id = "E-CFG-105",
             .where = "run.precision",
             .what = fmt::format("got \"{}\", but the host computes in fp32 and bf16 only{}", name_of(run.precision),
                                 no_gpu.empty() ? "" : fmt::format(" (no GPU: {})", no_gpu)),
             .hint = no_gpu.empty() ? "leave run.precision out, or set run.device = \"cuda\""
                                    : "leave run.precision out, or run the job where sluice sees a GPU"});
    }
}

void check_kind(const JobConfig& job, const OpenApp& app, DeviceKind device) {
    if (!app.runs_on(device)) {
        const bool host = device == DeviceKind::host;
        throw Error(ExitCode::configuration,
                    {.id = "E-CFG-108",
                     .where = "run.device",
                     .what = fmt::format("{} runs on {} only in this version, and the job on {}", job.app,
                                         host ? "GPUs" : "the host", host ? "the host" : "GPUs"),
                     .hint = host ? "set run.device = \"cuda\"" : "set run.device = \"host\""});
    }
}

/// Weights and the file they come from, or null.
using Weights = std::pair<std::unique_ptr<WeightsFile>, WeightBlob>;

Weights make_weights(const JobConfig::Model& model, const OpenApp& app) {
    if (!model.weights) {
        return {nullptr, app.random_weights(model.random.value())};
    }
    auto file = std::make_unique<WeightsFile>(*model.weights);
    return {std::move(file), app.read_weights(*model.weights)};
}

/// All that a job names, open.
struct OpenedJob {
    std::unique_ptr<OpenApp> app;
    AppFiles app_files;
    std::unique_ptr<ItemCodec> codec;  // outlives the source
    std::unique_ptr<ItemSource> source;
    Weights weights;
};

enum class OpenFor {
    run,
    check,
    comparison,  ///< With the output's run.
};

/// Whether a run may begin while its items are still being counted: it begins anew, with texts, and nothing of its
/// results depends on the number.
bool may_count_beside(const JobConfig& job, const OpenApp& app) {
    const bool is_text = job.input.format == InputFormat::csv || job.input.format == InputFormat::jsonl ||
                         job.input.format == InputFormat::txt;
    const bool any_chunk_will_do = job.pipeline.chunk_items || app.is_batch_invariant(job.run.precision);
    return is_text && !job.input.paths.empty() && !job.input.count && job.input.index != IndexTime::first &&
           job.run.precision != Precision::certified && any_chunk_will_do && is_new(job.output);
}

std::unique_ptr<ItemSource> open_items(const JobConfig& job, const OpenApp& app, const ItemCodec& codec,
                                       OpenFor purpose) {
    constexpr std::uint64_t least_bytes = std::uint64_t{256} << 20;  // less is indexed while CUDA starts
    constexpr std::uint64_t items_at_first = 65'536;                 // to estimate the number of all
    if (purpose == OpenFor::run && may_count_beside(job, app)) {
        const bool is_asked = job.input.index == IndexTime::beside;
        return open_growing_input(job.input, codec, is_asked ? 1 : items_at_first, is_asked ? 0 : least_bytes);
    }
    if (purpose == OpenFor::comparison) {
        if (const auto counted = counted_by_run(job)) {
            return open_counted_input(job.input, codec, *counted);
        }
    }
    return open_input(job.input, codec);
}

std::vector<std::filesystem::path> paths_of(const ItemSource& source) {
    std::vector<std::filesystem::path> paths;
    for (SourceFile& file : source.files()) {
        paths.push_back(std::move(file.path));
    }
    return paths;
}

OpenedJob open_job(const JobConfig& job, const Apps& apps, PhaseLog& phases, OpenFor purpose) {
    PhaseTimer opening(phases, Phase::job);
    auto app = open_app({.app = job.app, .settings = encode(job.settings)}, apps, job.model.weights);
    refuse_to_replace_app_files(job, *app);
    if (!seems_published(job.output.path)) {
        if (purpose != OpenFor::comparison) {
            check_output_path(job.output.path);
        }
        check_report_paths(job.output);
    }
    AppFiles app_files = open_app_files(job.settings, *app);  // before the codec reads them
    auto codec = app->make_codec();
    check_shape("codec", codec->shape(), app->shape());
    check_format(job.output.format, codec->output_fields());
    opening.stop();
    std::future<Weights> reading = std::async(std::launch::async, [&] {
        const PhaseTimer timer(phases, Phase::weights);
        return make_weights(job.model, *app);
    });
    PhaseTimer index(phases, Phase::index);
    fault_delay("index");
    auto source = open_items(job, *app, *codec, purpose);  // if both fail, this error is reported
    index.stop();
    refuse_to_replace_input_files(job, paths_of(*source));
    Weights weights = reading.get();
    return {.app = std::move(app),
            .app_files = std::move(app_files),
            .codec = std::move(codec),
            .source = std::move(source),
            .weights = std::move(weights)};
}

struct ChosenDevice {
    DeviceKind kind = DeviceKind::host;
    std::string gpu{};   // PreparedJob::gpu
    std::string note{};  // PreparedJob::device_note
};

ChosenDevice choose_checked_device(const JobConfig& job, const OpenApp& app) {
    ChosenDevice device{.kind = choose_device(job.run.device)};
    if (job.run.device == DeviceKind::automatic && device.kind == DeviceKind::host) {
        device.note = fmt::format("no GPU: {}", why_no_cuda());
    }
    if (device.kind == DeviceKind::cuda && cuda_device_count() > 0) {
        device.gpu = cuda_device_model(0);
    }
    check_kind(job, app, device.kind);
    check_precision(job, app, device.kind);
    app.check(job.run.precision, device.kind);
    return device;
}

/// Buffers hold a chunk, which need not exceed the job's `items`.
std::uint32_t at_most(std::uint64_t items, std::uint32_t chunk_items) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(items, 1, chunk_items));
}

PreparedJob prepare(JobConfig config, const Apps& apps, PhaseLog& phases, OpenFor purpose) {
    OpenedJob open = open_job(config, apps, phases, purpose);
    auto& [weights_file, weights] = open.weights;
    const double flop_per_item = open.app->flop_per_item(weights);
    const bool is_counted = open.source->known().is_all;
    const std::uint64_t items = is_counted ? open.source->count() : open.source->estimate_count();
    ChosenDevice device = choose_checked_device(config, *open.app);
    RunChoices begun_with = choices_of_run(config.output);
    const JobConfig::Pipeline& wanted = config.pipeline;
    const bool is_serial = wanted.mode == PipelineMode::serial;
    const auto given = wanted.chunk_items ? wanted.chunk_items : begun_with.chunk_items;
    const std::uint32_t chosen =  // on GPUs by tune()
        device.kind == DeviceKind::cuda ? 1 : choose_chunk_items(items, flop_per_item, open.app->least_chunk());
    JobPlan plan{
        .app = config.app,
        .settings = encode(config.settings),
        .precision = config.run.precision,
        .items = items,
        .most_items = is_counted ? std::nullopt : std::optional(open.source->upper_bound()),
        .chunk_items = is_counted ? at_most(items, given.value_or(chosen)) : given.value_or(chosen),
        .depth = is_serial ? 1 : wanted.depth.value_or(choose_depth(wanted.mode)),
        .depth_by = is_serial      ? DepthBy::serial_mode
                    : wanted.depth ? DepthBy::job
                                   : DepthBy::program,
        .device = device.kind,
        .instructions = begun_with.instructions.value_or(instructions_used(host_instructions(), config.run.precision)),
        .devices = config.run.devices,
        .bind = config.layout.bind,
        .scatter = config.pipeline.scatter,
        .layout = config.layout,
        .hang_timeout = config.fault.hang_timeout,
        .drain_timeout = config.fault.drain_timeout,
        .wants_trace = config.output.trace.has_value(),
    };
    return {.job = std::move(config),
            .plan = std::move(plan),
            .app = std::move(open.app),
            .app_files = std::move(open.app_files),
            .codec = std::move(open.codec),
            .source = std::move(open.source),
            .weights_file = std::move(weights_file),
            .weights = std::move(weights),
            .flop_per_item = flop_per_item,
            .begun_with = std::move(begun_with),
            .gpu = std::move(device.gpu),
            .device_note = std::move(device.note),
            .chunk_note = {}};
}

}  // namespace

PreparedJob prepare_job(JobConfig job, const Apps& apps, PhaseLog& phases) {
    return prepare(std::move(job), apps, phases, OpenFor::run);
}

PreparedJob prepare_job(JobConfig job, const Apps& apps) {
    PhaseLog phases;
    return prepare(std::move(job), apps, phases, OpenFor::check);
}

PreparedJob prepare_to_compare(JobConfig job, const Apps& apps) {
    PhaseLog phases;
    return prepare(std::move(job), apps, phases, OpenFor::comparison);
}

ChunkGrid estimated_grid(const PreparedJob& job) {
    return ChunkGrid(job.source->estimate_count(), job.plan.chunk_items).from(job.plan.first_chunk);
}

ItemCount items_so_far(const PreparedJob& job, std::uint64_t written) {
    const bool is_estimated = !job.source->is_counted();
    const ChunkGrid grid = estimated_grid(job);
    return {.done = grid.items_done() + written,
            .total = grid.items(),
            .before = grid.items_done(),
            .is_estimated = is_estimated};
}

void take_count(PreparedJob& job) {
    constexpr std::uint64_t most_chunks = std::uint64_t{1} << 24;  // records of all are reserved
    JobPlan& plan = job.plan;
    if (plan.most_items) {
        const bool reserves_much = plan.grid().chunks() > most_chunks;
        static_cast<void>(job.source->wait_for(reserves_much ? *plan.most_items : plan.chunk_items, {}));
        if (job.source->known().is_all) {
            plan.items = job.source->count();
            plan.most_items.reset();
            plan.chunk_items = at_most(plan.items, plan.chunk_items);
        }
    }
}

DeviceKind choose_device(DeviceKind wanted) {
    if (wanted != DeviceKind::automatic) {
        return wanted;
    }
    return cuda_device_count() > 0 ? DeviceKind::cuda : DeviceKind::host;
}

bool is_chunk_size_measured(const PreparedJob& job) {
    return job.plan.device == DeviceKind::cuda && !job.job.pipeline.chunk_items && !job.begun_with.chunk_items;
}

std::unique_ptr<OpenApp> open_app(const JobPlan& plan, const Apps& apps,
                                  const std::optional<std::filesystem::path>& weights) {
    const App* const app = apps.find(plan.app);
    expects(app != nullptr, "read_job accepts known apps only");
    AppSettings settings = decode_settings(plan.settings, app->keys());
    settings.set_weights(weights);
    return app->open(settings);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failure, code, text, chunks)

// As text, not packed: on rank 0 it is the message of an exception, which ends at a zero byte.

std::string encode_failure(const Failure& failure) {
    return nlohmann::json(failure).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Failure decode_failure(const std::string& text) {
    return nlohmann::json::parse(text).get<Failure>();
}

}  // namespace sluice
