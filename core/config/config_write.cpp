#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/config/config.hpp"
#include "core/config/config_names.hpp"
#include "core/config/config_slurm.hpp"
#include "core/config/slurm_option.hpp"

namespace sluice {
namespace {

std::string literal(std::string_view text) {
    return toml_string(text);
}

std::string literal(const std::optional<std::uint32_t>& count, std::string_view word = "auto") {
    return count ? fmt::format("{}", *count) : literal(word);
}

std::string literal(const std::vector<std::string>& words) {
    std::vector<std::string> parts;
    std::transform(words.begin(), words.end(), std::back_inserter(parts),
                   [](const std::string& word) { return literal(std::string_view(word)); });
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string literal(const std::vector<ColumnRef>& columns) {
    std::vector<std::string> parts;
    for (const ColumnRef& column : columns) {
        const auto* number = std::get_if<std::uint32_t>(&column);
        parts.push_back(number != nullptr ? fmt::format("{}", *number) : literal(std::get<std::string>(column)));
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\u{:04X}", byte);
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string to_toml(const JobConfig& job) {
    std::string text = fmt::format("app = {}\n", literal(job.app));
    const auto section = [&](std::string_view name) { text += fmt::format("\n[{}]\n", name); };
    const auto set = [&](std::string_view name, const std::string& value) {
        text += fmt::format("{} = {}\n", name, value);
    };
    const auto set_flag = [&](std::string_view name, bool value) { set(name, value ? "true" : "false"); };

    section("input");
    if (!job.input.path.empty()) {
        set("path", literal(job.input.path.native()));
        set("format", literal(name_of(job.input.format)));
        set("columns", literal(job.input.columns));
        set_flag("header", job.input.header);
    }
    set_flag("allow_empty", job.input.allow_empty);
    if (job.input.count) {
        set("count", fmt::format("{}", *job.input.count));
    }
    section("model");
    if (job.model.weights) {
        set("weights", literal(job.model.weights->native()));
    }
    if (job.model.random) {
        set("random", fmt::format("{}", *job.model.random));
    }
    section("output");
    set("path", literal(job.output.path.native()));
    set("format", literal(name_of(job.output.format)));
    set_flag("scores", job.output.scores);
    set("nonfinite", literal(name_of(job.output.nonfinite)));
    set("report", literal(job.output.report.native()));
    section("run");
    set("device", literal(name_of(job.run.device)));
    set("precision", literal(name_of(job.run.precision)));
    set("devices", literal(job.run.devices));
    section("pipeline");
    set("mode", literal(name_of(job.pipeline.mode)));
    set("distribution", literal(name_of(job.pipeline.distribution)));
    set("chunk_items", literal(job.pipeline.chunk_items));
    set("depth", literal(job.pipeline.depth));
    section("layout");
    set("bind", literal(name_of(job.layout.bind)));
    set("gpus_per_node", fmt::format("{}", job.layout.gpus_per_node));
    set("ranks_per_node", literal(job.layout.ranks_per_node, "per-gpu"));
    set("cpus_per_rank", literal(job.layout.cpus_per_rank));
    const SlurmConfig& slurm = job.slurm;
    section("slurm");
    for (const auto& [name, value] : slurm_names) {
        set(name, literal(slurm.*value));
    }
    if (slurm.time) {
        set("time", literal(duration_text(*slurm.time)));
    }
    set("nodes", fmt::format("{}", slurm.nodes));
    set_flag("exclusive", slurm.exclusive);
    set("gpu_request", literal(name_of(slurm.gpu_request)));
    set("launcher", literal(name_of(slurm.launcher)));
    set_flag("comment", slurm.comment);
    set("environment", literal(slurm.environment));
    set("skip", literal(slurm.skip));
    set("extra", literal(slurm.extra));
    section("slurm.resume");
    set("mode", literal(name_of(slurm.resume.mode)));
    set("max", fmt::format("{}", slurm.resume.most));
    set("notice", literal(slurm.resume.notice ? duration_text(*slurm.resume.notice) : "auto"));
    section("fault");
    set("hang_timeout", literal(duration_text(job.fault.hang_timeout)));
    set("drain_timeout", literal(duration_text(job.fault.drain_timeout)));
    set("max_failed_items", literal(job.fault.max_failed_items));
    return text;
}

}  // namespace sluice
