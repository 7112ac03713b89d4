#include "tools/runtime/job_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <tuple>
#include <utility>

#include "core/config/config.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/fault_point.hpp"
#include "core/json_types.hpp"
#include "scheduler/chunk_size.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/output_places.hpp"

namespace sluice {
namespace {

DeviceKind choose_device(DeviceKind wanted) {
    if (wanted != DeviceKind::automatic) {
        return wanted;
    }
    return cuda_device_count() > 0 ? DeviceKind::cuda : DeviceKind::host;
}

void check_precision(const JobConfig::Run& run, DeviceKind device) {
    if (device == DeviceKind::host && run.precision != Precision::fp32) {
        const std::string no_gpu = why_no_cuda();
        throw Error(ExitCode::configuration,
                    {.id = "E-CFG-105",
                     .where = "run.precision",
                     .what = fmt::format("got \"{}\", but the host computes in fp32 alone{}", name_of(run.precision),
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
    return {std::move(file), app.read_weights(model.weights->native())};
}

/// Opens everything that the job names: the app, its files, the input and the weights.
PreparedJob open_job(JobConfig config, const Apps& apps, PhaseLog& phases) {
    PhaseTimer opening(phases, Phase::job);
    PreparedJob prepared;
    prepared.job = std::move(config);
    const JobConfig& job = prepared.job;
    if (!is_published(job.output.path)) {
        check_output_path(job.output.path);
        check_report_path(job.output.report, job.output.path);
    }
    JobPlan& plan = prepared.plan;
    plan.app = job.app;
    plan.settings = encode(job.settings);
    plan.precision = job.run.precision;
    prepared.app = open_app(plan, apps, job.model.weights);
    prepared.app_files = open_app_files(job.settings, *prepared.app);  // before the codec reads them
    prepared.codec = prepared.app->make_codec();
    check_format(job.output.format, prepared.codec->output_fields());
    opening.stop();
    std::future<Weights> weights = std::async(std::launch::async, [&] {
        const PhaseTimer timer(phases, Phase::weights);
        return make_weights(job.model, *prepared.app);
    });
    PhaseTimer index(phases, Phase::index);
    fault_delay("index");
    prepared.source = open_input(job.input, *prepared.codec);  // if both fail, this error is reported
    index.stop();
    std::tie(prepared.weights_file, prepared.weights) = weights.get();
    prepared.flop_per_item = prepared.app->flop_per_item(prepared.weights);
    plan.items = prepared.source->count();
    return prepared;
}

void plan_devices(PreparedJob& prepared) {
    const JobConfig& job = prepared.job;
    JobPlan& plan = prepared.plan;
    plan.device = choose_device(job.run.device);
    if (job.run.device == DeviceKind::automatic && plan.device == DeviceKind::host) {
        prepared.device_note = fmt::format("no GPU: {}", why_no_cuda());
    }
    if (plan.device == DeviceKind::cuda && cuda_device_count() > 0) {
        prepared.gpu = cuda_device_model(0);
    }
    check_kind(job, *prepared.app, plan.device);
    check_precision(job.run, plan.device);
    prepared.app->check(plan.precision, plan.device);
    plan.devices = job.run.devices;
    plan.bind = job.layout.bind;
    plan.layout = job.layout;
}

std::uint32_t chunk_items_of(const PreparedJob& prepared) {
    if (prepared.job.pipeline.chunk_items) {
        return *prepared.job.pipeline.chunk_items;
    }
    if (prepared.begun_with.chunk_items) {
        return *prepared.begun_with.chunk_items;
    }
    return is_chunk_size_measured(prepared)
               ? 1
               : choose_chunk_items(prepared.plan.items, prepared.flop_per_item, prepared.app->least_chunk());
}

void plan_chunks(PreparedJob& prepared) {
    const JobConfig::Pipeline& wanted = prepared.job.pipeline;
    JobPlan& plan = prepared.plan;
    // Buffers hold a chunk, which need not exceed the job's items.
    plan.chunk_items = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plan.items, 1, chunk_items_of(prepared)));
    const bool is_serial = wanted.mode == PipelineMode::serial;
    plan.depth = is_serial ? 1 : wanted.depth.value_or(choose_depth(wanted.mode));
    plan.depth_by = is_serial ? DepthBy::serial_mode : wanted.depth ? DepthBy::job : DepthBy::program;
}

}  // namespace

PreparedJob prepare_job(JobConfig config, const Apps& apps, PhaseLog& phases) {
    PreparedJob prepared = open_job(std::move(config), apps, phases);
    plan_devices(prepared);
    prepared.begun_with = choices_of_run(prepared.job.output);
    prepared.plan.instructions = prepared.begun_with.instructions.value_or(host_instructions());
    prepared.plan.hang_timeout = prepared.job.fault.hang_timeout;
    prepared.plan.drain_timeout = prepared.job.fault.drain_timeout;
    plan_chunks(prepared);
    return prepared;
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
