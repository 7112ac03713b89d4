#include "core/config/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/config/text.hpp"
#include "core/error.hpp"
#include "core/paths.hpp"
#include "core/wording.hpp"

namespace sluice {
namespace {

std::string lower_extension(const std::filesystem::path& path) {
    std::string extension = path.extension().native();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return extension;
}

// Extensions of files that are not read as they are.
constexpr std::array<std::string_view, 8> archives{".gz", ".tgz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".tar"};
constexpr std::array<std::string_view, 11> other_tables{".parquet", ".arrow", ".feather", ".orc", ".avro", ".h5",
                                                        ".hdf5",    ".xlsx",  ".xls",     ".pkl", ".pt"};

/// nullopt: the extension says nothing.
std::optional<std::string> hint_of_extension(const std::filesystem::path& path) {
    const std::string extension = lower_extension(path);
    if (std::ranges::find(archives, extension) != archives.end()) {
        return "unpack it first: input is read as it is";
    }
    if (std::ranges::find(other_tables, extension) != other_tables.end()) {
        return "convert it first, to .csv, .jsonl or .npy";
    }
    if (extension == ".npz") {
        return "save the array by itself, as .npy";
    }
    return extension == ".tsv" ? std::optional<std::string>("convert it to .csv first: commas separate columns")
                               : std::nullopt;
}

template <class Enum, std::size_t number>
Enum format_by_extension(const std::filesystem::path& path, const std::string& where, std::string_view key,
                         const std::array<std::string_view, number>& names, std::string hint) {
    const std::string extension = lower_extension(path);
    const auto format = extension.empty() ? std::nullopt : enum_of<Enum>(extension.substr(1), names);
    if (!format) {
        refuse_job(
            "E-CFG-011", where,
            fmt::format("{}: got {}, expected an extension .{}", key,
                        extension.empty() ? "no extension" : "extension " + quoted(extension), fmt::join(names, " .")),
            std::move(hint));
    }
    return *format;
}

/// Refuses a job that does not set this required key.
void require(const StatedJob& stated, std::string_view full_name) {
    if (stated.find(full_name) == nullptr) {
        const std::size_t dot = full_name.rfind('.');
        refuse_job("E-CFG-013", stated.origin.name,
                   dot == std::string_view::npos
                       ? fmt::format("{} is required", full_name)
                       : fmt::format("[{}].{} is required", full_name.substr(0, dot), full_name.substr(dot + 1)));
    }
}

void check_app(const std::string& app, const StatedJob& stated, std::span<const AppKeys> apps) {
    require(stated, "app");
    std::vector<std::string_view> names;
    std::ranges::transform(apps, std::back_inserter(names), &AppKeys::app);
    if (std::ranges::find(names, app) == names.end()) {
        refuse_job("E-CFG-011", stated.where("app"),
                   fmt::format("app: unknown app {}{}", quoted(app), did_you_mean(app, names)),
                   "`sluice apps` lists them");
    }
}

[[noreturn]] void refuse_pair(const StatedJob& stated, std::string_view key, std::string_view what,
                              std::string hint = {}) {
    refuse_job("E-CFG-105", stated.where(key), fmt::format("{}: {}", key, what), std::move(hint));
}

void check_columns(const JobConfig::Input& input, const StatedJob& stated) {
    const std::string format(name_of(input.format));
    const auto conflict = [&](std::string_view key, const std::string& what, std::string hint = {}) {
        refuse_pair(stated, key, what, std::move(hint));
    };
    const bool named = std::any_of(input.columns.begin(), input.columns.end(),
                                   [](const ColumnRef& column) { return std::holds_alternative<std::string>(column); });
    const bool numbered = std::any_of(input.columns.begin(), input.columns.end(), [](const ColumnRef& column) {
        return std::holds_alternative<std::uint32_t>(column);
    });
    const bool csv = input.format == InputFormat::csv;
    const bool jsonl = input.format == InputFormat::jsonl;
    if (input.header && !csv) {
        conflict("input.header", fmt::format("got true for {} input, only csv has a header", format));
    }
    if (!input.columns.empty() && !csv && !jsonl) {
        conflict("input.columns", fmt::format("got columns for {} input, only csv and jsonl have columns", format));
    }
    if (csv && named && !input.header) {
        conflict("input.columns", "got a name, expected numbers while input.header is false",
                 "set input.header = true or count the columns from 1");
    }
    if (jsonl && numbered) {
        conflict("input.columns", "got a number, expected names for jsonl input");
    }
    if (jsonl && input.columns.empty()) {
        refuse_job("E-CFG-013", stated.where("input.columns"), "[input].columns is required for jsonl input",
                   "name the fields that hold the text, as in columns = [\"title\", \"text\"]");
    }
}

void check_count(const JobConfig::Input& input, const StatedJob& stated) {
    if (input.count == 0U && !input.allow_empty) {
        refuse_pair(stated, "input.count", "got 0 while input.allow_empty is false",
                    "set input.allow_empty = true if that is right");
    }
    const bool is_text =
        input.format == InputFormat::csv || input.format == InputFormat::jsonl || input.format == InputFormat::txt;
    if (input.count && !is_text) {
        refuse_pair(stated, "input.count",
                    fmt::format("got a count for {} input, only csv, jsonl and txt have one", name_of(input.format)));
    }
}

/// As many items as the job says, without a file.
void check_bare_input(const JobConfig::Input& input, const StatedJob& stated) {
    for (const std::string_view key : {"input.format", "input.columns", "input.header"}) {
        if (stated.find(key) != nullptr) {
            refuse_pair(stated, key, "is set without input.path", "name the file in input.path");
        }
    }
    check_count(input, stated);
}

void complete_input(JobConfig::Input& input, const StatedJob& stated) {
    if (stated.find("input.path") == nullptr && input.count) {
        return check_bare_input(input, stated);
    }
    require(stated, "input.path");
    if (input.count == 1U) {
        input.count.reset();
    }
    if (stated.find("input.format") == nullptr) {
        input.format =
            format_by_extension<InputFormat>(input.path, stated.where("input.path"), "input.path", input_format_names,
                                             hint_of_extension(input.path).value_or("set input.format"));
    }
    check_columns(input, stated);
    check_count(input, stated);
}

void choose_model(JobConfig::Model& model, const StatedJob& stated) {
    if (!model.weights && !model.random) {
        refuse_job("E-CFG-013", stated.origin.name, "[model].weights or [model].random is required");
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

/// Runs keep their own files in folders of that name.
void check_output_name(const StatedJob& stated) {
    const Setting& path = *stated.find("output.path");
    const auto& name = std::get<std::filesystem::path>(path.value);
    if (std::ranges::any_of(name.lexically_normal(),
                            [](const auto& part) { return part.native().ends_with(".sluice"); })) {
        refuse_job(
            "E-CFG-011", path.where,
            fmt::format("output.path: got {}, expected no name that ends in .sluice: a run's own folder has such "
                        "a name",
                        quoted(name.native())),
            "choose another [output].path");
    }
}

void complete_output(JobConfig::Output& output, const StatedJob& stated) {
    require(stated, "output.path");
    check_output_name(stated);
    const std::string& where = stated.where("output.path");
    const bool is_open = stated.find("output.format") == nullptr;
    if (is_open && !output.path.has_filename()) {
        refuse_job("E-CFG-013", where, "[output].format is required for a folder of parts",
                   "name the format, as in format = \"csv\"");
    }
    if (is_open) {
        output.format = format_by_extension<OutputFormat>(
            output.path, where, "output.path", output_format_names,
            hint_of_extension(output.path) ? "choose one of those: nothing else is written" : "set output.format");
    }
    if (stated.find("output.report") == nullptr) {
        output.report = default_report(output.path);
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
    const auto plain = [](const std::filesystem::path& path) {
        const std::filesystem::path normal = absolute_path(path).lexically_normal();
        return normal.has_filename() ? normal : normal.parent_path();
    };
    if (plain(a) == plain(b)) {
        return true;
    }
    std::error_code missing;  // a file that is not there yet is no other file
    return std::filesystem::equivalent(a, b, missing) && !missing;
}

/// No file that the job writes may be one that it reads, nor the other one that it writes.
void check_outputs(const JobConfig& job, const StatedJob& stated) {
    const auto check = [&](std::string_view key, const std::filesystem::path& written, std::string_view other,
                           const std::filesystem::path& kept) {
        if (same_file(written, kept)) {
            throw Error(ExitCode::refused,
                        {"E-SEC-019", stated.where(key),
                         fmt::format("{}: {} is also {}, which it would replace", key, quoted(written.native()), other),
                         fmt::format("choose another {}", key)});
        }
    };
    for (const auto& [key, written] :
         {std::pair("output.path", &job.output.path), std::pair("output.report", &job.output.report)}) {
        check(key, *written, "input.path", job.input.path);
        check(key, *written, "model.weights", job.model.weights.value_or(std::filesystem::path()));
        check(key, *written, "the job file", stated.origin.file);
        for (const AppSettings::Entry& entry : job.settings.entries()) {
            if (const auto* const read = std::get_if<std::filesystem::path>(&entry.value)) {
                check(key, *written, entry.name, *read);
            }
        }
    }
    check("output.report", job.output.report, "output.path", job.output.path);
}

SettingValue resolved(const SettingValue& value, const std::filesystem::path& base) {
    const auto* const path = std::get_if<std::filesystem::path>(&value);
    return path == nullptr ? value : base / *path;
}

/// What the job says to its app: each of its keys as set, else by default.
AppSettings own_settings(const StatedJob& stated) {
    AppSettings settings;
    for (const KeySpec* key : stated.schema.own_keys()) {
        const std::string name = key->full_name();
        const Setting* const setting = stated.find(name);
        if (key->required) {
            require(stated, name);
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

std::filesystem::path default_report(const std::filesystem::path& output) {
    std::filesystem::path name = output.has_filename() ? output : output.parent_path();
    if (name.filename() == "." || name.filename() == "..") {
        std::error_code unknown;  // where nobody knows where we are, the path is taken as it is
        const std::filesystem::path whole = std::filesystem::absolute(name, unknown).lexically_normal();
        name = whole.has_filename() ? whole : whole.parent_path();
    }
    return name += ".report.json";
}

const Setting* StatedJob::find(std::string_view full_name) const {
    const auto found = settings.find(full_name);
    return found == settings.end() ? nullptr : &found->second;
}

const std::string& StatedJob::where(std::string_view full_name) const {
    const Setting* const setting = find(full_name);
    return setting == nullptr ? origin.name : setting->where;
}

JobConfig build_job(const StatedJob& stated, std::span<const AppKeys> apps) {
    JobConfig job;
    for (const JobKey& key : job_keys()) {
        if (const Setting* const setting = stated.find(key.full_name())) {
            key.set(key, job, resolved(setting->value, stated.origin.base));
        }
    }
    check_app(job.app, stated, apps);
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
