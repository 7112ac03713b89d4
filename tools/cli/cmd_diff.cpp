#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "scheduler/report_diff.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/cli/named_report.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int diff(const ParsedArguments& parsed) {
    if (parsed.operands.size() < 2) {
        refuse_usage(parsed.command, "expected two reports or runs");
    }
    const std::array<NamedReport, 2> reports{read_named_report(parsed.operands[0], parsed.apps),
                                             read_named_report(parsed.operands[1], parsed.apps)};
    const auto& [before, after] = reports;
    ReportDiff found;
    try {
        found = diff_reports(before.json, after.json);
    } catch (const nlohmann::json::exception& error) {
        refuse_reports(reports, error);
    }
    if (parsed.has("json")) {
        nlohmann::ordered_json json = diff_json(found);
        json["before"] = before.path.native();
        json["after"] = after.path.native();
        print(json_text(json));
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
