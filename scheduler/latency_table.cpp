#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/modes.hpp"
#include "core/text/wording.hpp"
#include "scheduler/latency_sections.hpp"
#include "scheduler/report.hpp"
#include "scheduler/text_table.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Moment = RelativeMilestones::Moment;

constexpr std::size_t most_lost_rows = 32;
constexpr double least_share = 1;  // per cent of the wall; smaller rows are not named

std::string short_text(nanoseconds time) {
    return time_text(Seconds(time).count());
}

std::string length_text(nanoseconds time) {
    const double seconds = Seconds(time).count();
    return seconds < 1e-3 ? fmt::format("{:.1f} µs", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

/// "one clock" for a single rank.
std::string clock_text(const RunReport& report) {
    if (report.ranks.size() + report.lost.size() == 1) {
        return "one clock for all ranks\n";
    }
    if (report.clock_rounds == 0) {
        return "times are of rank 0's clock; those of the other ranks are lost\n";
    }
    std::string text = fmt::format("clocks aligned to ±{} (ping-pong, {} rounds)\n", length_text(report.clock_error()),
                                   report.clock_rounds);
    const auto violation = [](const RankReport& rank) { return rank.clock.violation; };
    const RankReport& worst = *std::ranges::max_element(report.ranks, {}, violation);
    const auto uneven = std::ranges::count_if(
        report.ranks, [](auto time) { return time.count() > 0; }, violation);
    if (uneven > 0) {
        text += fmt::format(
            "NOTE: the clock of rank {} drifts unevenly: messages arrive up to {} before they were sent{}\n",
            worst.rank, length_text(violation(worst)),
            uneven == 1 ? "" : fmt::format("; so do {} ranks' in all", uneven));
    }
    return text;
}

std::string closeness_text(const Certification& certification) {
    switch (certification.measure) {
        case Certification::Measure::gap:
            return fmt::format("their two best scores closer than {:.2g}", certification.bound);
        case Certification::Measure::draw:
            return fmt::format("a draw closer than {:.2g} to another byte or token", certification.bound) +
                   (certification.gap_bound
                        ? fmt::format(", or scores on both sides of a cut closer than {:.2g}", *certification.gap_bound)
                        : std::string());
        default:
            return fmt::format("their two best scores closer than {:.2g} of the scores' size", certification.bound);
    }
}

std::string certification_text(const RunReport& report) {
    const auto certification = report.certification();
    if (!certification || report.items_done == 0) {
        return {};
    }
    const auto counted = [&](std::uint64_t items) {
        return fmt::format("{} items ({:.1f} %)", items,
                           100.0 * static_cast<double>(items) / static_cast<double>(report.items_done));
    };
    const auto& checks = certification->checks;
    const std::string checked = checks ? fmt::format("{} checked in fp16x2, {} of them corrected, ",
                                                     counted(checks->checked), checks->corrected)
                                       : std::string();
    return fmt::format("certified: {}{} computed again in tf32x3, {} of them in fp32, {}\n", checked,
                       counted(certification->recomputed), certification->recomputed_twice,
                       std::isfinite(certification->bound)
                           ? closeness_text(*certification)
                           : std::string("all, because the items looked at did not bound the error of fp16"));
}

/// "names: 2000 (400/s), characters: 19000 (3800/s), ended early: 120 (6.0 %)", without those that are 0; rates only
/// where times are valid.
std::string counts_text(const RunReport& report, nanoseconds wall, bool timed) {
    std::vector<std::string> parts;
    for (const ModelCount& count : report.counts()) {
        if (count.value == 0) {
            continue;
        }
        std::string name = count.name;
        std::ranges::replace(name, '_', ' ');
        std::string part = fmt::format("{}: {}", name, count.value);
        if (count.beside == ModelCount::Beside::share_of_items && report.items_done != 0) {
            const double share = static_cast<double>(count.value) / static_cast<double>(report.items_done);
            part += fmt::format(" ({:.1f} %)", std::floor(1000 * share) / 10);  // 100 % is all of them
        } else if (count.beside == ModelCount::Beside::rate && timed && wall > nanoseconds(0)) {
            part += fmt::format(" ({}/s)", rate_text(static_cast<double>(count.value) / Seconds(wall).count()));
        }
        parts.push_back(std::move(part));
    }
    return parts.empty() ? std::string() : fmt::format("{}\n", fmt::join(parts, ", "));
}

/// What ranks had done whose times are lost.
std::string lost_text(const std::vector<LostRank>& lost) {
    if (lost.empty()) {
        return {};
    }
    TextRows table;
    table.push_back({fmt::format("{:<{}}", "returned by", label_width), "chunks", "items"});
    for (const LostRank& rank : std::span(lost).first(std::min(lost.size(), most_lost_rows))) {
        table.push_back({fmt::format("rank {} on {}", rank.rank, shortened(rank.host, longest_host_name)),
                         fmt::format("{}", rank.chunks), fmt::format("{}", rank.items)});
    }
    const std::string more =
        lost.size() > most_lost_rows
            ? fmt::format("and {} more ranks; the JSON report has every rank\n", lost.size() - most_lost_rows)
            : std::string();
    return '\n' + text_table(table) + more;
}

/// Escaped by component, because escaped() truncates long texts and the path has to be complete.
std::string path_text(std::string_view path) {
    std::string out;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        out += escaped(path.substr(0, slash)) + '/';
        path.remove_prefix(slash + 1);
    }
    return out + escaped(path);
}

/// Totals of the job if it had several attempts.
std::string job_text(const std::vector<AttemptSummary>& attempts) {
    if (attempts.size() < 2) {
        return {};
    }
    const auto text_of = [](Seconds time) { return time_text(time.count()); };
    const JobTotals totals = totals_of(attempts);
    return fmt::format("whole job: {} attempts, {} items computed, {}, devices for {}{}\n", totals.attempts,
                       totals.items_done, text_of(totals.seconds), totals.devices_known ? "" : "at least ",
                       text_of(totals.device_seconds));
}

/// "; steady 61200, start-up 21.2 ms", where there is a steady rate.
std::string steady_text(const Verdict& verdict) {
    return verdict.bound == Bound::unknown
               ? std::string()
               : fmt::format("; steady {} items/s, start-up {}", rate_text(verdict.steady), time_text(verdict.startup));
}

/// The run's seconds, without those in which rank 0 was suspended.
double time_awake(const RunReport& report, const Verdict& verdict) {
    return Seconds(wall_time(report.ranks)).count() - verdict.suspended;
}

/// One line per stage: its capacity, the share of the time between first and last chunk that its threads or engines
/// were busy, and its exposed time.
std::string stages_text(const RunReport& report, const Verdict& verdict) {
    if (verdict.bound == Bound::unknown) {
        return {};
    }
    const double serving = time_awake(report, verdict) - verdict.startup - verdict.end;
    TextRows table;
    table.push_back({"stage", "items/s", "busy", "exposed"});
    for (const Stage stage : all_stages) {
        nanoseconds busy{0};
        nanoseconds exposed{0};
        std::size_t instances = 0;
        for (const RankReport& rank : report.ranks) {
            exposed = std::max(exposed, rank.breakdown.at(stage).exposed);
            for (const InstanceTotals& instance : rank.breakdown.instances) {
                if (instance.stage == stage && instance.busy.count() != 0) {
                    busy += instance.busy;
                    ++instances;
                }
            }
        }
        const bool has_no_input = stage == Stage::read && report.input.file == 0;
        if (instances == 0 || has_no_input) {
            continue;
        }
        const double share = serving <= 0 ? 0 : Seconds(busy).count() / static_cast<double>(instances) / serving;
        const std::optional<double>& capacity = verdict.capacity[index_of(stage)];
        table.push_back({std::string(to_string(stage)), capacity ? rate_text(*capacity) : "-",
                         fmt::format("{:.1f} %", 100 * std::min(share, 1.0)), short_text(exposed)});
    }
    return '\n' + text_table(table);
}

/// Rank 0 takes part in every stage: "wall of rank 0: overlapped 62.1 %, only compute 20.3 %, …".
std::string shares_text(const RunReport& report) {
    const WallView& wall = report.ranks.front().breakdown.wall;
    const double total = Seconds(wall.total()).count();
    std::vector<WallRow> rows = wall_rows(wall);
    std::ranges::stable_sort(rows, std::ranges::greater(), &WallRow::time);
    std::vector<std::string> shares;
    double rest = 100;
    for (const WallRow& row : rows) {
        const double share = total <= 0 ? 0 : 100 * Seconds(row.time).count() / total;
        if (share >= least_share) {
            shares.push_back(fmt::format("{} {:.1f} %", row.label, share));
            rest -= share;
        }
    }
    if (shares.empty()) {
        return {};
    }
    if (rest >= 0.05) {
        shares.push_back(fmt::format("rest {:.1f} %", rest));
    }
    return fmt::format("\nwall{}: {}\n", report.ranks.size() > 1 ? " of rank 0" : "", fmt::join(shares, ", "));
}

/// "with compute 2 x faster: 1.21 s (now 2.02 s); twice the devices: 1.23 s"
std::string what_if_text(const Verdict& verdict, double now) {
    if (verdict.what_if.empty()) {
        return {};
    }
    std::vector<std::string> changes;
    for (const WhatIf& what_if : verdict.what_if) {
        changes.push_back(fmt::format("{}: {}", what_if.change, time_text(what_if.seconds)));
    }
    return fmt::format("what if (now {}): {}\n", time_text(now), fmt::join(changes, "; "));
}

std::string header(const RunReport& report, const Verdict& verdict, bool timed) {
    const nanoseconds wall = wall_time(report.ranks);
    const bool all_here = report.items_done == report.items;
    const std::string count = (report.partial() ? "PARTIAL: " : "") +
                              (all_here ? count_of(report.items, "item") : count_text(report.count()));
    const char* const before_time = report.items_before == 0 ? " in" : ";";
    const std::string rate =
        wall > nanoseconds(0)
            ? fmt::format(": {} items/s", rate_text(static_cast<double>(report.items_done) / Seconds(wall).count()))
            : std::string();
    std::string out =
        timed ? fmt::format("{}{} {}{}{}\n", count, before_time, short_text(wall), rate, steady_text(verdict))
              : count + '\n';
    out += job_text(report.attempts);
    if (!report.failed_items.empty()) {
        out += fmt::format("{} left out: {}\n", count_of(report.failed_items.size(), "item"),
                           first_of(report.failed_items));
    }
    if (!report.ended_by.empty()) {
        out += fmt::format("ended by {}\n", report.ended_by);
    }
    out += fmt::format("{} of up to {}, depth {}, {}, {}; {}, {} ({}{}{})\n", count_of(report.chunks, "chunk"),
                       count_of(report.chunk_items, "item"), report.depth, name_of(report.mode),
                       name_of(report.distribution), count_of(report.ranks.size() + report.lost.size(), "rank"),
                       count_of(report.devices(), "device"), name_of(report.device),
                       report.device == DeviceKind::cuda ? fmt::format(", {}", name_of(report.precision)) : "",
                       report.device_note.empty() ? "" : fmt::format("; {}", report.device_note));
    if (!report.chunk_note.empty()) {
        out += report.chunk_note + '\n';
    }
    out += clock_text(report);
    out += certification_text(report);
    out += counts_text(report, wall, timed);
    out += text_of(gpu_cost(report.ranks, report.items_done, wall));
    for (const auto& [name, path] :
         {std::pair{"output", &report.output_path}, std::pair{"report", &report.report_path}}) {
        if (!path->empty()) {
            out += fmt::format("{}: {}\n", name, path_text(*path));
        }
    }
    return out;
}

}  // namespace

std::string latency_table(const RunReport& report, TableForm form) {
    expects(!report.ranks.empty(), "a run has at least one rank");
    expects(report.items_before + report.items_done <= report.items, "a run finishes at most the items of its input");
    const std::string withheld = why_withheld(report);
    const Verdict verdict = judge(report);
    std::string out = header(report, verdict, withheld.empty());
    if (!withheld.empty()) {
        out += fmt::format("\nthe latency table is withheld because its times cannot be trusted: {}\n", withheld);
    } else {
        out += stages_text(report, verdict);
        out += form == TableForm::full ? sections_text(report) : shares_text(report);
    }
    out += lost_text(report.lost) + '\n';
    if (form == TableForm::full) {
        out += roofline_text(report.roofline, verdict, report.devices());
    }
    out += what_if_text(verdict, time_awake(report, verdict));
    for (const std::string& note : verdict.notes) {
        out += note + '\n';
    }
    return out + verdict.line + '\n';
}

}  // namespace sluice
