#include "core/config/config_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/config/config_names.hpp"
#include "core/config/config_reader.hpp"
#include "core/config/config_slurm.hpp"
#include "core/error.hpp"
#include "core/paths.hpp"
#include "core/text/closest_name.hpp"

namespace sluice {
namespace {

std::string lower_extension(const std::string& path) {
    std::string extension = std::filesystem::path(path).extension().native();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return extension;
}

/// What an extension says that stands for no format.
struct OtherExtension {
    std::string_view name;
    std::string_view hint;
};

constexpr std::string_view unpack_hint = "unpack it first: input is read as it is";
constexpr std::string_view convert_hint = "convert it first, to .csv, .jsonl or .npy";
constexpr std::array other_extensions{
    OtherExtension{".gz", unpack_hint},
    OtherExtension{".tgz", unpack_hint},
    OtherExtension{".bz2", unpack_hint},
    OtherExtension{".xz", unpack_hint},
    OtherExtension{".zst", unpack_hint},
    OtherExtension{".lz4", unpack_hint},
    OtherExtension{".zip", unpack_hint},
    OtherExtension{".tar", unpack_hint},
    OtherExtension{".parquet", convert_hint},
    OtherExtension{".arrow", convert_hint},
    OtherExtension{".feather", convert_hint},
    OtherExtension{".orc", convert_hint},
    OtherExtension{".avro", convert_hint},
    OtherExtension{".h5", convert_hint},
    OtherExtension{".hdf5", convert_hint},
    OtherExtension{".xlsx", convert_hint},
    OtherExtension{".xls", convert_hint},
    OtherExtension{".pkl", convert_hint},
    OtherExtension{".pt", convert_hint},
    OtherExtension{".npz", "save the array by itself, as .npy"},
    OtherExtension{".tsv", "convert it to .csv first: commas separate columns"},
};

/// nullopt: the extension says nothing.
std::optional<std::string> hint_of_extension(const std::string& path) {
    const auto* const other = std::ranges::find(other_extensions, lower_extension(path), &OtherExtension::name);
    return other == other_extensions.end() ? std::nullopt : std::optional<std::string>(other->hint);
}

template <class Enum, std::size_t number>
Enum format_by_extension(const std::string& path, const std::string& where, std::string_view key,
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

void check_app(const std::string& app, const SettingsReader& job, std::span<const std::string_view> apps) {
    if (std::find(apps.begin(), apps.end(), app) == apps.end()) {
        refuse_job("E-CFG-011", job.where("app"),
                   fmt::format("app: unknown app {}{}", quoted(app), did_you_mean(app, apps)),
                   "`sluice apps` lists them");
    }
}

[[noreturn]] void refuse_pair(const SettingsReader& job, std::string_view key, std::string_view what,
                              std::string hint = {}) {
    refuse_job("E-CFG-105", job.where(key), fmt::format("{}: {}", key, what), std::move(hint));
}

void check_columns(const JobConfig::Input& input, const SettingsReader& job) {
    const std::string format(name_of(input.format));
    const auto conflict = [&](std::string_view key, const std::string& what, std::string hint = {}) {
        refuse_pair(job, key, what, std::move(hint));
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
        refuse_job("E-CFG-013", job.where("input.columns"), "[input].columns is required for jsonl input",
                   "name the fields that hold the text, as in columns = [\"title\", \"text\"]");
    }
}

void check_count(const JobConfig::Input& input, const SettingsReader& job) {
    if (input.count == 0U && !input.allow_empty) {
        refuse_pair(job, "input.count", "got 0 while input.allow_empty is false",
                    "set input.allow_empty = true if that is right");
    }
    const bool is_text =
        input.format == InputFormat::csv || input.format == InputFormat::jsonl || input.format == InputFormat::txt;
    if (input.count && !is_text) {
        refuse_pair(job, "input.count",
                    fmt::format("got a count for {} input, only csv, jsonl and txt have one", name_of(input.format)));
    }
}

/// As many items as the job says, without a file.
JobConfig::Input build_bare_input(const SettingsReader& job) {
    for (const std::string_view key : {"input.format", "input.columns", "input.header"}) {
        if (job.find(key) != nullptr) {
            refuse_pair(job, key, "is set without input.path", "name the file in input.path");
        }
    }
    JobConfig::Input input;
    input.allow_empty = job.flag("input.allow_empty");
    input.count = *job.get<std::uint64_t>("input.count");
    check_count(input, job);
    return input;
}

JobConfig::Input build_input(const SettingsReader& job) {
    if (job.find("input.path") == nullptr && job.find("input.count") != nullptr) {
        return build_bare_input(job);
    }
    const std::string& path = job.required("input.path");
    JobConfig::Input input;
    input.path = job.path(path);
    if (const auto* count = job.get<std::uint64_t>("input.count"); count != nullptr && *count != 1) {
        input.count = *count;
    }
    input.header = job.flag("input.header");
    input.allow_empty = job.flag("input.allow_empty");
    if (job.find("input.format") != nullptr) {
        input.format = job.choice("input.format", InputFormat::txt, input_format_names);
    } else {
        input.format = format_by_extension<InputFormat>(path, job.where("input.path"), "input.path", input_format_names,
                                                        hint_of_extension(path).value_or("set input.format"));
    }
    if (const auto* columns = job.get<std::vector<ColumnRef>>("input.columns")) {
        input.columns = *columns;
    }
    check_columns(input, job);
    check_count(input, job);
    return input;
}

JobConfig::Model build_model(const SettingsReader& job, const std::string& job_name) {
    const Setting* weights = job.find("model.weights");
    const Setting* random = job.find("model.random");
    if (weights == nullptr && random == nullptr) {
        refuse_job("E-CFG-013", job_name, "[model].weights or [model].random is required");
    }
    if (weights != nullptr && random != nullptr) {
        if (weights->from_command_line == random->from_command_line) {
            refuse_job("E-CFG-105", random->where, "model.random: model.weights is set too, expected one of the two");
        }
        (weights->from_command_line ? random : weights) = nullptr;  // the command line chooses the other one
    }
    JobConfig::Model model;
    if (weights != nullptr) {
        model.weights = job.path(std::get<std::string>(weights->value));
    } else {
        model.random = std::get<std::uint64_t>(random->value);
    }
    return model;
}

/// Runs keep their own files in folders of that name.
void check_output_name(const std::filesystem::path& path, const SettingsReader& job) {
    if (std::ranges::any_of(path.lexically_normal(),
                            [](const auto& name) { return name.native().ends_with(".sluice"); })) {
        refuse_job(
            "E-CFG-011", job.where("output.path"),
            fmt::format("output.path: got {}, expected no name that ends in .sluice: a run's own folder has such "
                        "a name",
                        quoted(path.native())),
            "choose another [output].path");
    }
}

JobConfig::Output build_output(const SettingsReader& job) {
    const std::string& path = job.required("output.path");
    JobConfig::Output output;
    output.path = job.path(path);
    check_output_name(path, job);
    const bool folder = !output.path.has_filename();
    if (job.find("output.format") != nullptr) {
        output.format = job.choice("output.format", OutputFormat::csv, output_format_names);
    } else if (folder) {
        refuse_job("E-CFG-013", job.where("output.path"), "[output].format is required for a folder of parts",
                   "name the format, as in format = \"csv\"");
    } else {
        output.format = format_by_extension<OutputFormat>(
            path, job.where("output.path"), "output.path", output_format_names,
            hint_of_extension(path) ? "choose one of those: nothing else is written" : "set output.format");
    }
    output.scores = job.flag("output.scores");
    output.nonfinite = job.choice("output.nonfinite", NonfinitePolicy::error, nonfinite_policy_names);
    const auto* report = job.get<std::string>("output.report");
    output.report = report == nullptr ? default_report(output.path) : job.path(*report);
    return output;
}

JobConfig::Pipeline build_pipeline(const SettingsReader& job) {
    const JobConfig::Pipeline pipeline{
        .mode = job.choice("pipeline.mode", PipelineMode::overlap, pipeline_mode_names),
        .distribution = job.choice("pipeline.distribution", Distribution::pull, distribution_names),
        .chunk_items = job.count("pipeline.chunk_items"),
        .depth = job.count("pipeline.depth")};
    if (pipeline.mode == PipelineMode::serial && pipeline.depth.value_or(1) > 1) {
        refuse_job("E-CFG-105", job.where("pipeline.depth"),
                   fmt::format("pipeline.depth: got {} in serial mode, expected 1 or \"auto\"", *pipeline.depth),
                   "set pipeline.depth = \"auto\", or pipeline.mode = \"overlap\"");
    }
    return pipeline;
}

std::chrono::seconds timeout(const SettingsReader& job, const std::string& key, std::chrono::seconds fallback,
                             std::chrono::seconds least) {
    constexpr std::chrono::seconds most{86'400};
    const auto* const set = job.get<std::uint64_t>(key);
    const std::chrono::seconds timeout = set == nullptr ? fallback : std::chrono::seconds(*set);
    if (timeout < least || timeout > most) {
        refuse_job("E-CFG-011", job.where(key),
                   fmt::format("{}: got {} s, expected {}..{} s", key, timeout.count(), least.count(), most.count()));
    }
    return timeout;
}

JobConfig::Fault build_fault(const SettingsReader& job) {
    using std::chrono::seconds;
    const JobConfig::Fault fallback;
    return {.hang_timeout = timeout(job, "fault.hang_timeout", fallback.hang_timeout, seconds(0)),
            .drain_timeout = timeout(job, "fault.drain_timeout", fallback.drain_timeout, seconds(1)),
            .max_failed_items = job.count("fault.max_failed_items").value_or(fallback.max_failed_items)};
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
void check_outputs(const JobConfig& config, const SettingsReader& job, const JobOrigin& origin) {
    const auto check = [&](std::string_view key, const std::filesystem::path& written, std::string_view other,
                           const std::filesystem::path& kept) {
        if (same_file(written, kept)) {
            throw Error(ExitCode::refused,
                        {"E-SEC-019", job.where(key),
                         fmt::format("{}: {} is also {}, which it would replace", key, quoted(written.native()), other),
                         fmt::format("choose another {}", key)});
        }
    };
    const auto weights = config.model.weights.value_or(std::filesystem::path());
    for (const auto& [key, written] :
         {std::pair("output.path", &config.output.path), std::pair("output.report", &config.output.report)}) {
        check(key, *written, "input.path", config.input.path);
        check(key, *written, "model.weights", weights);
        check(key, *written, "the job file", origin.file);
    }
    check("output.report", config.output.report, "output.path", config.output.path);
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

JobConfig build_job(const Settings& settings, const JobOrigin& origin, std::span<const std::string_view> apps) {
    const SettingsReader job(settings, origin);
    JobConfig config;
    config.app = job.required("app");
    check_app(config.app, job, apps);
    config.input = build_input(job);
    config.model = build_model(job, origin.name);
    config.output = build_output(job);
    config.run = {.device = job.choice("run.device", DeviceKind::automatic, device_kind_names),
                  .precision = job.choice("run.precision", Precision::fp32, precision_names),
                  .devices = job.count("run.devices")};
    config.pipeline = build_pipeline(job);
    config.layout = {.bind = job.choice("layout.bind", BindMode::gpu_local, bind_mode_names),
                     .gpus_per_node = job.count("layout.gpus_per_node").value_or(0),
                     .ranks_per_node = job.count("layout.ranks_per_node"),
                     .cpus_per_rank = job.count("layout.cpus_per_rank")};
    config.slurm = build_slurm(job);
    config.fault = build_fault(job);
    check_outputs(config, job, origin);
    return config;
}

}  // namespace sluice
