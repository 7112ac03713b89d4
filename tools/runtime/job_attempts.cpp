#include "tools/runtime/job_attempts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "core/text/parse.hpp"
#include "scheduler/report.hpp"

namespace sluice {
namespace {

std::filesystem::path reports_of(const RunPaths& paths) {
    return paths.run_folder() / "reports";
}

std::filesystem::path report_file(const RunPaths& paths, std::uint32_t attempt) {
    return reports_of(paths) / fmt::format("{:04}.json", attempt);
}

/// The attempts with a kept report, in order.
std::vector<std::uint32_t> kept_reports(const RunPaths& paths) {
    std::vector<std::uint32_t> kept;
    for (const std::string& name : names_in_folder(reports_of(paths))) {
        const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
        if (const auto number = parse_number<std::uint32_t>(stem); number && name.substr(stem.size()) == ".json") {
            kept.push_back(*number);
        }
    }
    std::ranges::sort(kept);
    return kept;
}

AttemptSummary by_its_folder(const RunPaths& paths, std::uint32_t number) {
    const Attempt attempt = read_attempt(paths, number);
    AttemptSummary summary{.number = number,
                           .exit_code = attempt.code,
                           .ended_by = attempt.end,
                           .ranks = attempt.ranks,
                           .devices = attempt.devices,
                           .items_done = attempt.items};
    if (attempt.begin && attempt.last_heartbeat) {
        summary.start = utc_text(*attempt.begin);
        summary.end = utc_text(*attempt.last_heartbeat);
        summary.seconds = *attempt.last_heartbeat - *attempt.begin;
    }
    return summary;
}

/// For an attempt whose last report was written before its end.
void complete(AttemptSummary& reported, const AttemptSummary& traced) {
    reported.exit_code = traced.exit_code;
    reported.items_done = std::max(reported.items_done, traced.items_done);
    if (reported.ended_by.empty()) {
        reported.ended_by = traced.ended_by;
    }
}

}  // namespace

std::vector<AttemptSummary> earlier_attempts(const RunPaths& paths, std::uint32_t before) {
    std::map<std::uint32_t, AttemptSummary> all;
    std::vector<std::uint32_t> kept = kept_reports(paths);
    std::erase_if(kept, [&](std::uint32_t number) { return number >= before; });
    if (!kept.empty()) {
        const std::optional<std::string> text = read_text(report_file(paths, kept.back()), longest_report);
        for (const AttemptSummary& attempt :
             attempts_in_report(text.value_or("")).value_or(std::vector<AttemptSummary>())) {
            all.emplace(attempt.number, attempt);
        }
    }
    for (const std::uint32_t number : attempts_of(paths)) {
        const auto known = all.find(number);
        if (number < before && known == all.end()) {
            all.emplace(number, by_its_folder(paths, number));
        } else if (number < before && !known->second.exit_code) {
            complete(known->second, by_its_folder(paths, number));
        }
    }
    std::vector<AttemptSummary> attempts;
    for (auto& [number, attempt] : all) {
        if (number < before) {
            attempts.push_back(std::move(attempt));
        }
    }
    return attempts;
}

std::optional<std::filesystem::path> newest_report(const RunPaths& paths) {
    const std::vector<std::uint32_t> kept = kept_reports(paths);
    return kept.empty() ? std::nullopt : std::optional(report_file(paths, kept.back()));
}

std::filesystem::path keep_report(const RunPaths& paths, std::uint32_t attempt, std::string_view text) {
    std::filesystem::path file = report_file(paths, attempt);
    make_folder(reports_of(paths));
    write_text_durably(file, text);
    const std::vector<std::uint32_t> kept = kept_reports(paths);
    for (std::size_t i = 0; i + most_kept_reports < kept.size(); ++i) {
        remove_file(report_file(paths, kept[i]));
    }
    return file;
}

}  // namespace sluice
