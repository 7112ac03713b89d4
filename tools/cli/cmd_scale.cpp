#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "scheduler/report_scaling.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/cli/named_report.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int scale(const ParsedArguments& parsed) {
    if (parsed.operands.size() < 2) {
        refuse_usage(parsed.command, "expected two or more reports or runs");
    }
    std::vector<NamedReport> named;
    std::vector<ReportToScale> reports;
    for (const std::string& operand : parsed.operands) {
        const NamedReport& report = named.emplace_back(read_named_report(operand, parsed.apps));
        reports.push_back({.name = escaped(operand), .report = report.json});
    }
    Scaling scaling;
    try {
        scaling = scaling_of(reports);
    } catch (const nlohmann::json::exception& error) {
        refuse_reports(named, error);
    }
    print(parsed.has("json") ? json_text(scaling_json(scaling)) : scaling_text(scaling));
    return 0;
}

}  // namespace

const Command scale_command{
    .name = "scale",
    .synopsis = "RUN RUN... [OPTION]...",
    .summary = "say how a job scales: speed-up and efficiency over runs on more devices",
    .details =
        "Each RUN is a report (labels.csv.report.json), or a run, of which the newest report is taken:\n"
        "an output, its folder of parts or one of them, its run folder, its job file, or its Slurm job's\n"
        "number. Runs on as many nodes, ranks and devices are repetitions: the middle one counts, beside\n"
        "their spread. Speed-ups are against the runs on the fewest devices.",
    .exit_codes =
        "  0   compared\n"
        "  64  wrong command line\n"
        "  65  not a report, or one of another schema\n"
        "  66  no run or report found there\n"
        "  69  a job's number, but no Slurm to ask\n"
        "  78  wrong job file",
    .example = "  {program} scale labels-1.csv labels-2.csv labels-4.csv",
    .json = true,
    .most_operands = std::numeric_limits<std::size_t>::max(),
    .run = scale,
};

}  // namespace sluice
