#include "tools/job_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/registry.hpp"
#include "core/cuda.hpp"
#include "core/error.hpp"
#include "scheduler/chunk_size.hpp"
#include "tools/check_job.hpp"
#include "tools/command_line.hpp"

namespace sluice {
namespace {

DeviceKind choose_device(DeviceKind wanted) {
    if (wanted != DeviceKind::automatic) {
        return wanted;
    }
    return cuda_device_count() > 0 ? DeviceKind::cuda : DeviceKind::host;
}

}  // namespace

AppOptions app_options(const JobConfig& job) {
    return {.scores = job.output.scores};
}

PreparedJob prepare_job(const std::filesystem::path& job_file, std::span<const Override> overrides) {
    PreparedJob prepared;
    JobPlan& plan = prepared.plan;
    plan.job = read_job(job_file, overrides, app_names());
    prepared.app = find_app(plan.job.app);
    expects(prepared.app != nullptr, "read_job accepts known apps only");
    prepared.codec = prepared.app->make_codec(app_options(plan.job));
    prepared.source = open_input(plan.job.input, *prepared.codec);
    prepared.weights = plan.job.model.weights ? prepared.app->read_weights(plan.job.model.weights->native())
                                              : prepared.app->random_weights(plan.job.model.random.value());
    plan.items = prepared.source->count();
    plan.device = choose_device(plan.job.run.device);
    plan.chunk_items = plan.job.pipeline.chunk_items.value_or(
        choose_chunk_items(plan.items, prepared.app->flop_per_item(), plan.device));
    // Buffers are made for a chunk: no item needs room for more items than there are.
    plan.chunk_items = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plan.items, 1, plan.chunk_items));
    plan.depth = plan.job.pipeline.mode == PipelineMode::serial
                     ? 1
                     : plan.job.pipeline.depth.value_or(choose_depth(plan.job.pipeline.mode));
    prepared.writer =
        make_output_writer(plan.job.output.path, plan.job.output.format, prepared.codec->output_fields(), plan.items);
    check_report_path(plan.job.output.report);
    return prepared;
}

std::string encode(const JobPlan& plan) {
    return nlohmann::json{{"job", to_toml(plan.job)},
                          {"items", plan.items},
                          {"chunk_items", plan.chunk_items},
                          {"depth", plan.depth},
                          {"device", plan.device}}
        .dump();
}

JobPlan decode_job_plan(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {.job = parse_job(json.at("job").get<std::string>(), "the job from rank 0", ".", {}, app_names()),
            .items = json.at("items"),
            .chunk_items = json.at("chunk_items"),
            .depth = json.at("depth"),
            .device = json.at("device")};
}

std::string encode(const RootAnnouncement& announcement) {
    return nlohmann::json{{"code", announcement.code}, {"plan", announcement.plan}}.dump();
}

RootAnnouncement decode_announcement(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {.code = json.at("code"), .plan = json.at("plan")};
}

std::string encode_failure(const Failure& failure) {
    const ErrorText& text = failure.text;
    return nlohmann::json{{"code", static_cast<int>(failure.code)},
                          {"id", text.id},
                          {"where", text.where},
                          {"what", text.what},
                          {"hint", text.hint}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Failure decode_failure(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {.code = static_cast<ExitCode>(json.at("code").get<int>()),
            .text = {.id = json.at("id"), .where = json.at("where"), .what = json.at("what"), .hint = json.at("hint")}};
}

}  // namespace sluice
