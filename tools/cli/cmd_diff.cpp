#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "scheduler/report.hpp"
#include "scheduler/report_diff.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/job_attempts.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

struct NamedReport {
    std::filesystem::path path;
    nlohmann::json json;
};

/// Of a report's path, or of the newest report of a run.
std::filesystem::path report_path(const std::string& name, const Apps& apps) {
    std::error_code unknown;  // what cannot be examined is looked for as a run
    if (name.ends_with(".json") && std::filesystem::is_regular_file(name, unknown)) {
        return name;
    }
    const NamedRun run = named_run_to_read(name, apps);
    const std::optional<std::filesystem::path> newest = newest_report(run.paths);
    if (!newest) {
        throw Error(ExitCode::no_input, {.id = "E-RUN-191",
                                         .where = escaped(name),
                                         .what = "the run has kept no report",
                                         .hint = "name a report (.json); a run that was killed leaves none"});
    }
    return *newest;
}

NamedReport read_report(const std::string& name, const Apps& apps) {
    NamedReport report{.path = report_path(name, apps), .json = {}};
    const auto refuse = [&](std::string what) {
        throw Error(ExitCode::bad_data, {.id = "E-RUN-192",
                                         .where = escaped(report.path.native()),
                                         .what = std::move(what),
                                         .hint = "name the report of a run, or the run"});
    };
    const std::optional<std::string> text = read_text(report.path, longest_report);
    if (!text || !is_report(*text)) {
        refuse("is not a sluice report");
    }
    report.json = nlohmann::json::parse(*text, nullptr, false);
    if (report.json.is_discarded()) {
        refuse("is not a whole sluice report: it is no JSON");
    }
    if (const auto schema = report.json.find("schema"); schema == report.json.end() || *schema != report_schema) {
        refuse(fmt::format("is a report of schema {}, expected {}",
                           schema == report.json.end() ? "1" : escaped(schema->dump()), report_schema));
    }
    return report;
}

int diff(const ParsedArguments& parsed) {
    if (parsed.operands.size() < 2) {
        refuse_usage(parsed.command, "expected two reports or runs");
    }
    const NamedReport before = read_report(parsed.operands[0], parsed.apps);
    const NamedReport after = read_report(parsed.operands[1], parsed.apps);
    ReportDiff found;
    try {
        found = diff_reports(before.json, after.json);
    } catch (const nlohmann::json::exception& error) {
        throw Error(ExitCode::bad_data,
                    {.id = "E-RUN-192",
                     .where = escaped(before.path.native()) + " or " + escaped(after.path.native()),
                     .what = fmt::format("lacks what a sluice report has: {}", escaped(error.what())),
                     .hint = "name the report of a run, or the run"});
    }
    if (parsed.has("json")) {
        nlohmann::ordered_json json = diff_json(found);
        json["before"] = before.path.native();
        json["after"] = after.path.native();
        print(escaped_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
    } else {
        print(fmt::format("before: {}\nafter:  {}\n\n{}", escaped(before.path.native()), escaped(after.path.native()),
                          diff_text(found)));
    }
    return 0;
}

}  // namespace

const Command diff_command{
    .name = "diff",
    .synopsis = "BEFORE AFTER [OPTION]...",
    .summary = "say what differs between two runs: times, rates, settings, machines",
    .details =
        "BEFORE and AFTER are reports (labels.csv.report.json), or runs, of which the newest report is\n"
        "taken: an output, its folder of parts or one of them, its run folder, its job file, or its\n"
        "Slurm job's number.",
    .exit_codes =
        "  0   compared, whether or not they differ\n"
        "  64  wrong command line\n"
        "  65  not a report, or one of another schema\n"
        "  66  no run or report found there\n"
        "  69  a job's number, but no Slurm to ask\n"
        "  78  wrong job file",
    .example = "  {program} diff labels-1.csv labels-2.csv",
    .json = true,
    .most_operands = 2,
    .run = diff,
};

}  // namespace sluice
