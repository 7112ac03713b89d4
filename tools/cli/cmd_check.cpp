#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/chunk_grid.hpp"
#include "core/config/config.hpp"
#include "core/config/file_pattern.hpp"
#include "core/error.hpp"
#include "core/modes.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/check_job.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/progress.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {

template <>
inline constexpr std::array<std::string_view, 3> words_of<OutputState>{"new", "unfinished", "complete"};

namespace {

/// One as a string, several as a list.
nlohmann::ordered_json shown(const std::vector<std::filesystem::path>& paths) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const std::filesystem::path& path : paths) {
        all.push_back((has_wildcards(path) ? path : without_brackets(path)).native());
    }
    return all.size() == 1 ? all.front() : all;
}

/// Numbers, booleans and lists as such; paths and lengths of time as strings.
nlohmann::ordered_json shown(const SettingValue& value) {
    return std::visit(
        [&](const auto& held) -> nlohmann::ordered_json {
            using Held = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::vector<std::string>>) {
                return held;
            } else {
                return plain_text(value);
            }
        },
        value);
}

/// The findings, in the order of the job file.
nlohmann::ordered_json facts_of(const PreparedJob& prepared) {
    const JobPlan& plan = prepared.plan;
    const JobConfig& job = prepared.job;
    nlohmann::ordered_json facts;
    facts["app"] = job.app;
    if (!job.input.paths.empty()) {
        facts["input"] = {{"path", shown(job.input.paths)},
                          {"format", name_of(job.input.format)},
                          {"files", prepared.source->files().size()}};
    }
    facts["input"]["items"] = plan.items;
    if (!job.input.paths.empty()) {
        facts["input"]["file_bytes"] = prepared.source->reads().file;
    }
    facts["input"]["item_bytes"] = prepared.codec->shape().input_bytes;
    facts["model"] = job.model.weights ? nlohmann::ordered_json{{"weights", job.model.weights->native()}}
                                       : nlohmann::ordered_json{{"random", *job.model.random}};
    facts["model"]["bytes"] = prepared.weights.memory.bytes().size();
    facts["output"] = {{"path", job.output.path.native()},
                       {"format", name_of(job.output.format)},
                       {"report", job.output.report.native()}};
    if (job.output.trace) {
        facts["output"]["trace"] = job.output.trace->native();
    }
    facts["output"]["state"] = name_of(check_output(prepared));
    facts["run"] = {{"device", name_of(plan.device)}};
    for (const AppSettings::Entry& entry : job.settings.entries()) {
        facts["settings"][entry.name] = shown(entry.value);
    }
    facts["pipeline"] = is_chunk_size_measured(prepared)
                            ? nlohmann::ordered_json{{"chunk_items", "auto"}}
                            : nlohmann::ordered_json{{"chunks", ChunkGrid(plan.items, plan.chunk_items).chunks()},
                                                     {"chunk_items", plan.chunk_items},
                                                     {"depth", plan.depth}};
    return facts;
}

/// The first of a list of files will do.
std::string in_words(const nlohmann::ordered_json& value, bool is_setting) {
    if (value.is_array() && !is_setting) {
        return fmt::format("{} and {} more", in_words(value.front(), is_setting), value.size() - 1);
    }
    return escaped(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string as_text(const nlohmann::ordered_json& facts) {
    std::string text;
    for (const auto& [section, values] : facts.items()) {
        std::string line;
        if (values.is_object()) {
            for (const auto& [key, value] : values.items()) {
                line += fmt::format("{}{} {}", line.empty() ? "" : ", ", key, in_words(value, section == "settings"));
            }
        } else {
            line = escaped(values.get<std::string>());
        }
        text += fmt::format("ok  {:<9} {}\n", section, line);
    }
    return text;
}

void check_options(Options& options) {
    options.add_options()("no-progress", "show no progress on stderr");
}

/// With its progress on stderr, where that is wanted.
void check_with_progress(const PreparedJob& prepared, const ParsedArguments& parsed) {
    std::atomic<std::uint64_t> items_read = 0;
    std::optional<Progress> progress;
    if (!parsed.has("no-progress")) {
        progress.emplace([&] { return ItemCount{.done = items_read, .total = prepared.source->count()}; });
    }
    check_prepared_job(prepared, items_read);
}

int check(const ParsedArguments& parsed) {
    const PreparedJob prepared = prepare_job(read_job(job_file_of(parsed), parsed.apps), parsed.apps);
    check_with_progress(prepared, parsed);
    warn_of_long_notice(prepared.job);
    const nlohmann::ordered_json facts = facts_of(prepared);
    print(parsed.has("json") ? json_text(facts) : as_text(facts));
    return 0;
}

}  // namespace

const Command check_command{
    .name = "check",
    .synopsis = "JOB.toml [OPTION]...",
    .summary = "find a job's mistakes without running it",
    .details =
        "Validates the job file, reads the whole input and the weights, and tries the output's\n"
        "folder. If something is wrong, ends with the message and the exit code of a run. Does not\n"
        "check the nodes' memory; an output that another run works on counts as unfinished.\n"
        "Leaves no file. With --json, stdout stays empty when something is wrong. Progress goes to stderr\n"
        "as that of a run.",
    .exit_codes =
        "  0   nothing wrong             71  out of memory\n"
        "  64  wrong command line        73  the output cannot be created\n"
        "  65  wrong input or weights    77  the output would replace a file of the job\n"
        "  66  cannot open a file        78  wrong job file or --set\n"
        "  69  the device is missing     81  weights are not finite\n"
        "  74  a read failed             84  the output is damaged",
    .example = "  {program} check job.toml --set input.path=other.csv",
    .set_example = "pipeline.depth=4",
    .json = true,
    .own_options = check_options,
    .most_operands = 1,
    .run = check,
};

}  // namespace sluice
