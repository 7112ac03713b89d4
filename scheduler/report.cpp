#include "scheduler/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "core/json_types.hpp"
#include "core/modes.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

constexpr const char* format_name = "sluice report";

/// Keys of a report written before "format" existed.
constexpr std::array unmarked_keys{"schema", "units", "config", "run", "clocks", "timers", "ranks", "lost", "verdict"};

Json in_seconds(nanoseconds time) {
    return Seconds(time).count();
}

Json in_seconds(const RelativeMilestones::Moment& moment) {
    return moment ? in_seconds(*moment) : Json(nullptr);
}

Json in_seconds(const std::vector<RelativeMilestones::Moment>& moments) {
    Json json = Json::array();
    for (const RelativeMilestones::Moment& moment : moments) {
        json.push_back(in_seconds(moment));
    }
    return json;
}

Json milestones_json(const RelativeMilestones& milestones) {
    return {{"start", in_seconds(milestones.start)},
            {"driver_begin", in_seconds(milestones.driver_begin)},
            {"driver_ready", in_seconds(milestones.driver_ready)},
            {"buffers_ready", in_seconds(milestones.buffers_ready)},
            {"devices_ready", in_seconds(milestones.devices_ready)},
            {"scatter_begin", in_seconds(milestones.scatter_begin)},
            {"first_compute", in_seconds(milestones.first_compute)},
            {"last_compute", in_seconds(milestones.last_compute)},
            {"scatter_end", in_seconds(milestones.scatter_end)},
            {"compute_end", in_seconds(milestones.compute_end)},
            {"delivered", in_seconds(milestones.delivered)},
            {"written", in_seconds(milestones.written)},
            {"finish", in_seconds(milestones.finish)}};
}

Json clock_json(const RankClock& clock) {
    return {{"error", in_seconds(clock.error)},
            {"drift", clock.drift},
            {"messages", clock.messages},
            {"violation", in_seconds(clock.violation)},
            {"bound", in_seconds(clock.bound)}};
}

Json rank_json(const RankReport& rank) {
    Json json{{"rank", rank.rank}, {"host", rank.host}, {"milestones", milestones_json(rank.milestones)}};
    json["clock"] = clock_json(rank.clock);
    json["facts"] = to_json(rank.facts);
    const Breakdown& breakdown = rank.breakdown;
    if (!breakdown.invalid.empty()) {
        json["invalid"] = breakdown.invalid;
        return json;
    }
    Json stages = Json::object();
    Json wall = Json::object();
    for (const Stage stage : all_stages) {
        const StageTotals& totals = breakdown.at(stage);
        const std::string name(to_string(stage));
        stages[name] = {{"busy", in_seconds(totals.busy)},
                        {"active", in_seconds(totals.active)},
                        {"exposed", in_seconds(totals.exposed)},
                        {"hidden", in_seconds(totals.hidden())},
                        {"chunks", totals.chunks},
                        {"items", totals.items}};
        wall[name] = in_seconds(breakdown.wall.stages[index_of(stage)]);
    }
    wall["overlapped"] = in_seconds(breakdown.wall.overlapped);
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
        wall[std::string(to_string(static_cast<Phase>(phase)))] = in_seconds(breakdown.wall.phases[phase]);
    }
    wall["waiting"] = in_seconds(breakdown.wall.waiting);
    wall["suspended"] = in_seconds(breakdown.wall.suspended);
    wall["total"] = in_seconds(breakdown.wall.total());
    Json instances = Json::array();
    for (const InstanceTotals& instance : breakdown.instances) {
        instances.push_back({{"stage", to_string(instance.stage)},
                             {"name", instance.name},
                             {"busy", in_seconds(instance.busy)},
                             {"items", instance.items},
                             {"bytes", instance.bytes == 0 ? Json(nullptr) : Json(instance.bytes)},
                             {"run_delay", in_seconds(instance.delayed)}});
    }
    json["stages"] = std::move(stages);
    json["wall"] = std::move(wall);
    json["instances"] = std::move(instances);
    return json;
}

Json input_json(const InputReads& reads) {
    return {{"file_bytes", reads.file == 0 ? Json(nullptr) : Json(reads.file)},
            {"bytes_indexed", reads.indexing},
            {"bytes_read", reads.items}};
}

/// An infinite bound, under which every item was recomputed, is null: JSON has no infinity.
Json certification_json(const std::optional<Certification>& certification) {
    if (!certification) {
        return nullptr;
    }
    const auto& checks = certification->checks;
    return {{"checked", checks ? Json(checks->checked) : Json(nullptr)},
            {"corrected", checks ? Json(checks->corrected) : Json(nullptr)},
            {"recomputed", certification->recomputed},
            {"recomputed_twice", certification->recomputed_twice},
            {"bound", std::isfinite(certification->bound) ? Json(certification->bound) : Json(nullptr)},
            {"measure", name_of(certification->measure)},
            {"gap_bound", certification->gap_bound && std::isfinite(*certification->gap_bound)
                              ? Json(*certification->gap_bound)
                              : Json(nullptr)}};
}

Json counts_json(const std::vector<ModelCount>& counts) {
    Json json = Json::object();
    for (const ModelCount& count : counts) {
        json[count.name] = count.value;
    }
    return json;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LostRank, rank, host, devices, chunks, items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EncoderThreads, used, useful)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobTotals, attempts, items_done, seconds, device_seconds, devices_known)

std::string why_withheld(const RunReport& report) {
    for (const RankReport& rank : report.ranks) {
        if (!rank.breakdown.invalid.empty()) {
            return fmt::format("rank {} on {}: {}", rank.rank, rank.host, rank.breakdown.invalid);
        }
    }
    return {};
}

std::vector<ModelCount> RunReport::counts() const {
    std::vector<ModelCount> all;
    for (const RankReport& rank : ranks) {
        add_counts(all, rank.counts);
    }
    if (cut_texts) {
        all.push_back({.name = "cut_texts", .value = *cut_texts, .beside = ModelCount::Beside::share_of_items});
    }
    return all;
}

std::optional<Certification> RunReport::certification() const {
    std::optional<Certification> all;
    for (const RankReport& rank : ranks) {
        all = together(all, rank.certification);
    }
    return all;
}

std::size_t RunReport::devices() const noexcept {
    std::size_t devices = 0;
    for (const RankReport& rank : ranks) {
        devices += rank.milestones.first_compute.size();
    }
    for (const LostRank& rank : lost) {
        devices += rank.devices;
    }
    return devices;
}

nanoseconds RunReport::clock_error() const {
    nanoseconds most{0};
    for (const RankReport& rank : ranks) {
        most = std::max(most, rank.clock.error);
    }
    return most;
}

Json report_json(const RunReport& report, const Json& config) {
    expects(report.items_before + report.items_done <= report.items, "a run finishes at most the items of its input");
    const double wall = Seconds(wall_time(report.ranks)).count();
    const std::string withheld = why_withheld(report);
    const Verdict verdict = judge(report);
    Json ranks = Json::array();
    for (const RankReport& rank : report.ranks) {
        ranks.push_back(rank_json(rank));
    }
    const bool knows_clocks = report.clock_rounds > 0 || report.lost.empty();
    return {{"schema", report_schema},
            {"units", {{"time", "s"}, {"rate", "items/s"}, {"size", "bytes"}}},
            {"config", config},
            {"provenance", report.provenance},
            {"input", input_json(report.input)},
            {"links", report.links},
            {"gpu_cost", gpu_cost(report.ranks, report.items_done, wall_time(report.ranks))},
            {"run",
             {{"items", report.items},
              {"items_done", report.items_done},
              {"items_before", report.items_before},
              {"partial", report.partial()},
              {"failed_items", report.failed_items},
              {"ended_by", or_null(report.ended_by)},
              {"chunks", report.chunks},
              {"chunk_items", report.chunk_items},
              {"depth", report.depth},
              {"staged", report.queues.staged},
              {"window", report.queues.window},
              {"encoders", report.encoders},
              {"mode", name_of(report.mode)},
              {"distribution", name_of(report.distribution)},
              {"device", name_of(report.device)},
              {"device_note", report.device_note},
              {"chunk_note", report.chunk_note},
              {"precision", name_of(report.precision)},
              {"certification", certification_json(report.certification())},
              {"counts", counts_json(report.counts())},
              {"wall", withheld.empty() ? Json(wall) : Json(nullptr)},
              {"throughput",
               withheld.empty() && wall > 0 ? Json(static_cast<double>(report.items_done) / wall) : Json(nullptr)},
              {"output", report.output_path},
              {"report", report.report_path}}},
            {"clocks",
             {{"aligned", report.clock_rounds > 0},
              {"error", knows_clocks ? in_seconds(report.clock_error()) : Json(nullptr)},
              {"rounds", report.clock_rounds}}},
            {"timers", {{"valid", withheld.empty()}, {"reason", or_null(withheld)}}},
            {"ranks", std::move(ranks)},
            {"lost", report.lost},
            {"job", totals_of(report.attempts)},
            {"attempts", report.attempts},
            {"roofline", roofline_json(report.roofline, verdict, report.devices())},
            {"verdict", verdict}};
}

std::string report_file_text(const RunReport& report, const Json& config) {
    nlohmann::ordered_json file{{"format", format_name}};  // first, so that the start identifies the file
    file.update(nlohmann::ordered_json(report_json(report, config)));
    return file.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

bool is_report(std::string_view text) {
    if (text.starts_with(fmt::format("{{\n  \"format\": \"{}\"", format_name))) {  // without parsing a long text
        return true;
    }
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) {
        return false;
    }
    if (const auto format = json.find("format"); format != json.end()) {
        return *format == format_name;
    }
    return json.size() == unmarked_keys.size() &&
           std::ranges::all_of(unmarked_keys, [&](const char* key) { return json.contains(key); });
}

}  // namespace sluice
