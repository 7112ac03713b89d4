#include "tools/cli/named_report.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "scheduler/report.hpp"
#include "scheduler/report_diff.hpp"
#include "scheduler/report_scaling.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/job_attempts.hpp"

namespace sluice {
namespace {

constexpr const char* name_a_report = "name the report of a run, or the run";

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

/// Whether all is there that is compared: it can be compared with itself.
bool is_whole(const nlohmann::json& report) {
    try {
        const ReportToScale source{.name = {}, .report = report};
        static_cast<void>(scaling_of({&source, 1}));
        static_cast<void>(diff_reports(report, report));
        return true;
    } catch (const nlohmann::json::exception&) {  // says that it is not
        return false;
    }
}

/// Without the library's "[json.exception.out_of_range.403] ".
std::string problem_in(const nlohmann::json::exception& error) {
    const std::string_view text = error.what();
    const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
    return escaped(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace

NamedReport read_named_report(const std::string& name, const Apps& apps) {
    NamedReport report{.path = report_path(name, apps), .json = {}};
    const auto refuse = [&](std::string what) {
        throw Error(ExitCode::bad_data, {.id = "E-RUN-192",
                                         .where = escaped(report.path.native()),
                                         .what = std::move(what),
                                         .hint = name_a_report});
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

void refuse_reports(std::span<const NamedReport> reports, const nlohmann::json::exception& error) {
    std::string where;
    for (const NamedReport& report : reports) {
        const std::string name = escaped(report.path.native());
        if (!is_whole(report.json)) {
            where = name;
            break;
        }
        where += (where.empty() ? "" : " or ") + name;
    }
    throw Error(ExitCode::bad_data, {.id = "E-RUN-192",
                                     .where = where,
                                     .what = fmt::format("lacks what a sluice report has: {}", problem_in(error)),
                                     .hint = name_a_report});
}

}  // namespace sluice
