#include "core/config/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/config/file_pattern.hpp"
#include "core/config/text.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

void choose_model(JobConfig::Model& model, const StatedJob& stated) {
    if (!model.weights && !model.random) {
        refuse_job("E-CFG-013", stated.origin.name, "[model].weights or [model].random is required",
                   "name the model's weights, or, for a trial, the seed of random ones");
    }
    if (!model.weights || !model.random) {
        return;
    }
    const Setting& weights = *stated.find("model.weights");
    const Setting& random = *stated.find("model.random");
    if (weights.from_command_line == random.from_command_line) {
        refuse_job("E-CFG-105", random.where, "model.random: model.weights is set too, expected one of the two");
    }
    if (weights.from_command_line) {  // which chooses the other one
        model.random.reset();
    } else {
        model.weights.reset();
    }
}

void check_pipeline(const JobConfig::Pipeline& pipeline, const StatedJob& stated) {
    if (pipeline.mode == PipelineMode::serial && pipeline.depth.value_or(1) > 1) {
        refuse_job("E-CFG-105", stated.where("pipeline.depth"),
                   fmt::format("pipeline.depth: got {} in serial mode, expected 1 or \"auto\"", *pipeline.depth),
                   "set pipeline.depth = \"auto\", or pipeline.mode = \"overlap\"");
    }
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    if (a.empty() || b.empty()) {
        return false;
    }
    if (plain_path(a) == plain_path(b)) {
        return true;
    }
    std::error_code missing;  // a file that is not there yet is no other file
    return std::filesystem::equivalent(a, b, missing) && !missing;
}

[[noreturn]] void refuse_output(std::string_view key, const std::filesystem::path& written, std::string_view other,
                                std::string where) {
    throw Error(ExitCode::refused,
                {"E-SEC-019", std::move(where),
                 fmt::format("{}: {} is also {}, which it would replace", key, quoted(written.native()), other),
                 fmt::format("choose another {}", key)});
}

/// What a pattern would match once it is there is an input of the job when it is run again. Files that it matches by
/// another name are met where they are open: refuse_to_replace_input_files().
void refuse_to_replace_input(const JobConfig& job, const std::filesystem::path& input,
                             const std::function<std::string(std::string_view key)>& where_of) {
    refuse_to_replace(job, input, "input.path", where_of);
    refuse_to_replace(job, without_brackets(input), "input.path", where_of);
    std::error_code missing;
    if (!has_wildcards(input) || std::filesystem::exists(input, missing)) {  // it is a file's name
        return;
    }
    const std::filesystem::path& output = job.output.path;
    const std::filesystem::path first_part =
        output.has_filename() ? output : output / fmt::format("part-00000.{}", name_of(job.output.format));
    for (auto [key, written] : written_files(job.output)) {
        if (written == output) {
            written = first_part;
        }
        if (would_match(input, written)) {
            throw Error(ExitCode::refused,
                        {"E-SEC-019", where_of(key),
                         fmt::format("{}: {} matches {} of input.path: it would be an input of the job", key,
                                     quoted(written.native()), quoted(input.native())),
                         fmt::format("choose another {}", key)});
        }
    }
}

/// No file that the job writes may be one that it reads, nor another one that it writes.
void check_outputs(const JobConfig& job, const StatedJob& stated) {
    const auto where_of = [&](std::string_view key) { return stated.where(key); };
    for (const std::filesystem::path& input : job.input.paths) {
        refuse_to_replace_input(job, input, where_of);
    }
    refuse_to_replace(job, job.model.weights.value_or(std::filesystem::path()), "model.weights", where_of);
    refuse_to_replace(job, stated.origin.file, "the job file", where_of);
    for (const AppSettings::Entry& entry : job.settings.entries()) {
        if (const auto* const read = std::get_if<std::filesystem::path>(&entry.value)) {
            refuse_to_replace(job, *read, entry.name, where_of);
        }
    }
    const auto written = written_files(job.output);
    for (auto one = written.begin(); one != written.end(); ++one) {
        const auto same = std::find_if(written.begin(), one,
                                       [&](const auto& earlier) { return same_file(one->second, earlier.second); });
        if (same != one) {
            refuse_output(one->first, one->second, same->first, stated.where(one->first));
        }
    }
}

/// What the job says to its app: each of its keys as set, else by default.
AppSettings own_settings(const StatedJob& stated) {
    AppSettings settings;
    for (const KeySpec* key : stated.schema.own_keys()) {
        const std::string name = key->full_name();
        const Setting* const setting = stated.find(name);
        if (key->required) {
            stated.require(name);
        }
        const std::optional<SettingValue> value =
            setting == nullptr ? default_value(*key) : std::optional(setting->value);
        if (value) {
            settings.set(name, resolved(*value, stated.origin.base));
        }
    }
    return settings;
}

}  // namespace

void check_app(const std::string& app, const std::string& where, std::span<const AppKeys> apps) {
    std::vector<std::string_view> names;
    std::ranges::transform(apps, std::back_inserter(names), &AppKeys::app);
    if (std::ranges::find(names, app) == names.end()) {
        refuse_job("E-CFG-011", where, fmt::format("app: unknown app {}{}", quoted(app), did_you_mean(app, names)),
                   fmt::format("`{} apps` lists them", program_name()));
    }
}

SettingValue resolved(const SettingValue& value, const std::filesystem::path& base) {
    if (const auto* const path = std::get_if<std::filesystem::path>(&value)) {
        return base / *path;
    }
    if (const auto* const patterns = std::get_if<std::vector<std::filesystem::path>>(&value)) {
        std::vector<std::filesystem::path> whole;
        for (const std::filesystem::path& pattern : *patterns) {
            whole.push_back(pattern_in(base, pattern));
        }
        return whole;
    }
    return value;
}

const Setting* StatedJob::find(std::string_view full_name) const {
    const auto found = settings.find(full_name);
    return found == settings.end() ? nullptr : &found->second;
}

const std::string& StatedJob::where(std::string_view full_name) const {
    const Setting* const setting = find(full_name);
    return setting == nullptr ? origin.name : setting->where;
}

void StatedJob::require(std::string_view full_name, std::string hint) const {
    if (find(full_name) == nullptr) {
        const std::size_t dot = full_name.rfind('.');
        refuse_job("E-CFG-013", origin.name,
                   dot == std::string_view::npos
                       ? fmt::format("{} is required", full_name)
                       : fmt::format("[{}].{} is required", full_name.substr(0, dot), full_name.substr(dot + 1)),
                   std::move(hint));
    }
}

void StatedJob::refuse_pair(std::string_view full_name, std::string_view what, std::string hint) const {
    refuse_job("E-CFG-105", where(full_name), fmt::format("{}: {}", full_name, what), std::move(hint));
}

void refuse_to_replace(const JobConfig& job, const std::filesystem::path& file, std::string_view name,
                       const std::function<std::string(std::string_view key)>& where_of) {
    for (const auto& [key, written] : written_files(job.output)) {
        if (same_file(written, file)) {
            refuse_output(key, written, name, where_of(key));
        }
    }
}

JobConfig build_job(const StatedJob& stated, std::span<const AppKeys> apps) {
    JobConfig job;
    for (const JobKey& key : job_keys()) {
        if (const Setting* const setting = stated.find(key.full_name())) {
            key.set(key, job, resolved(setting->value, stated.origin.base));
        }
    }
    stated.require("app");
    check_app(job.app, stated.where("app"), apps);
    complete_input(job.input, stated);
    choose_model(job.model, stated);
    complete_output(job.output, stated);
    check_pipeline(job.pipeline, stated);
    check_slurm(job.slurm, stated);
    job.settings = own_settings(stated);
    check_outputs(job, stated);
    return job;
}

}  // namespace sluice
