#include "tools/doctor/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/modes.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

std::string count_line(std::span<const Finding> findings) {
    const auto count = [&](Severity severity) {
        return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
    };
    return fmt::format("{}, {}\n", count_of(count(Severity::error), "error"),
                       count_of(count(Severity::warning), "warning"));
}

nlohmann::ordered_json output_json(const OutputFacts& output) {
    nlohmann::ordered_json json{{"folder", output.folder},
                                {"file_system", output.file_system},
                                {"in_memory", output.in_memory},
                                {"why_not", output.why_not},
                                {"free_bytes", output.free_bytes}};
    json["free_files"] =
        output.free_files == UINT64_MAX ? nlohmann::ordered_json() : nlohmann::ordered_json(output.free_files);
    return json;
}

}  // namespace

std::string doctor_text(const DoctorFacts& facts, std::span<const Finding> findings) {
    std::string text;
    if (facts.launch.slurm_job) {
        text += fmt::format("Slurm {}, job {}\n", facts.slurm ? facts.slurm->text() : "of unknown version",
                            *facts.launch.slurm_job);
    }
    for (const Finding& finding : findings) {
        text += fmt::format("{:<8} {:<8} {}{}{}\n", name_of(finding.severity), finding.topic,
                            finding.id.empty() ? "" : finding.id + ": ", finding.what,
                            finding.remedy.empty() ? "" : "; fix: " + finding.remedy);
    }
    return text + count_line(findings);
}

std::string doctor_json(const DoctorFacts& facts, std::span<const Finding> findings) {
    nlohmann::ordered_json json;
    json["slurm"] = facts.slurm ? nlohmann::ordered_json(facts.slurm->text()) : nlohmann::ordered_json();
    json["job"] = facts.launch.slurm_job ? nlohmann::ordered_json(*facts.launch.slurm_job) : nlohmann::ordered_json();
    json["tasks"] = facts.launch.tasks;
    json["device"] = name_of(facts.device);
    json["findings"] = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        json["findings"].push_back({{"severity", name_of(finding.severity)},
                                    {"topic", finding.topic},
                                    {"id", finding.id},
                                    {"code", static_cast<int>(finding.code)},
                                    {"what", finding.what},
                                    {"fix", finding.remedy}});
    }
    json["ranks"] = nlohmann::ordered_json::array();
    for (const RankFacts& rank : facts.ranks) {
        json["ranks"].push_back(nlohmann::ordered_json::parse(encode(rank)));
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const LinkSpeed& link : facts.links) {
        json["links"].push_back(
            {{"to", link.to}, {"latency_seconds", link.latency_seconds}, {"bytes_per_second", link.bytes_per_second}});
    }
    json["output"] = facts.output ? output_json(*facts.output) : nlohmann::ordered_json();
    return escaped_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace sluice
