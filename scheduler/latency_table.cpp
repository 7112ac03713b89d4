#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/modes.hpp"
#include "scheduler/report.hpp"
#include "scheduler/text_table.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Moment = RelativeMilestones::Moment;

constexpr std::size_t columns_a_block = 8;   // fits 132 characters with six digits after the point
constexpr std::size_t most_named = 10;       // items, by their numbers
constexpr std::size_t most_columns = 64;     // beyond, columns are summaries
constexpr std::size_t most_device_rows = 8;  // beyond, devices are summaries
constexpr std::size_t longest_host_name = 12;
constexpr std::size_t label_width = 28;  // of the longest title, so that the sections' columns line up

/// One line of a section: a time for every rank, in the order of the ranks; nullopt: did not happen there.
struct Row {
    std::string label;
    std::vector<Moment> times;
};

struct Section {
    std::string title;
    std::vector<Row> rows;
};

nanoseconds to_whole_microseconds(nanoseconds time) {
    return std::chrono::round<microseconds>(time);
}

std::string seconds_text(nanoseconds time) {
    const auto total = std::chrono::round<microseconds>(time).count();
    const auto size = std::abs(total);
    return fmt::format("{}{}.{:06}", total < 0 ? "-" : "", size / 1'000'000, size % 1'000'000);
}

std::string cell(const Moment& time) {
    return time ? seconds_text(*time) : "-";
}

Row row_of(std::string label, const std::vector<RankReport>& ranks,
           const std::function<Moment(const RankReport&)>& value) {
    Row row{std::move(label), {}};
    for (const RankReport& rank : ranks) {
        row.times.push_back(value(rank));
    }
    return row;
}

/// First, median (the lower one) or last of the moments that happened.
Moment pick(std::vector<Moment> moments, double position) {
    std::erase(moments, std::nullopt);
    if (moments.empty()) {
        return std::nullopt;
    }
    std::sort(moments.begin(), moments.end());
    return moments[static_cast<std::size_t>(position * static_cast<double>(moments.size() - 1))];
}

void add_first_computes(Section& section, const std::vector<RankReport>& ranks) {
    std::size_t devices = 0;
    for (const RankReport& rank : ranks) {
        devices = std::max(devices, rank.milestones.first_compute.size());
    }
    if (devices > most_device_rows) {
        for (const auto& [label, position] :
             {std::pair{"first device first compute", 0.0}, std::pair{"median device first compute", 0.5},
              std::pair{"last device first compute", 1.0}}) {
            section.rows.push_back(row_of(label, ranks, [position = position](const RankReport& rank) {
                return pick(rank.milestones.first_compute, position);
            }));
        }
        return;
    }
    for (std::size_t device = 0; device < devices; ++device) {
        section.rows.push_back(
            row_of(fmt::format("device {} first compute", device), ranks, [device](const RankReport& rank) {
                const auto& moments = rank.milestones.first_compute;
                return device < moments.size() ? moments[device] : Moment();
            }));
    }
}

/// Of GPUs; a host has none.
bool has_driver(const std::vector<RankReport>& ranks) {
    return std::ranges::any_of(ranks, [](const RankReport& rank) { return rank.milestones.driver_time().has_value(); });
}

Section event_section(const std::vector<RankReport>& ranks) {
    Section section{"event (s since the start)", {}};
    const auto add = [&](const char* label, auto member) {
        section.rows.push_back(
            row_of(label, ranks, [member](const RankReport& rank) -> Moment { return rank.milestones.*member; }));
    };
    add("start", &RelativeMilestones::start);
    if (has_driver(ranks)) {
        add("driver ready", &RelativeMilestones::driver_ready);
    }
    add("buffers ready", &RelativeMilestones::buffers_ready);
    add("devices ready", &RelativeMilestones::devices_ready);
    add("input scatter start", &RelativeMilestones::scatter_begin);
    add_first_computes(section, ranks);
    add("input scatter end", &RelativeMilestones::scatter_end);
    add("compute end", &RelativeMilestones::compute_end);
    add("results delivered", &RelativeMilestones::delivered);
    add("finish", &RelativeMilestones::finish);
    return section;
}

Section busy_section(const std::vector<RankReport>& ranks) {
    Section section{"busy (s, may overlap)", {}};
    for (const Stage stage : all_stages) {
        const auto add = [&](const char* kind, nanoseconds StageTotals::*member) {
            section.rows.push_back(
                row_of(fmt::format("{:<8} {}", to_string(stage), kind), ranks, [stage, member](const RankReport& rank) {
                    const StageTotals& totals = rank.breakdown.at(stage);
                    return totals.chunks == 0 ? Moment() : Moment(totals.*member);
                }));
        };
        add("busy", &StageTotals::busy);
        add("waiting", &StageTotals::waiting);
    }
    if (has_driver(ranks)) {
        section.rows.push_back(
            row_of("driver   start", ranks, [](const RankReport& rank) { return rank.milestones.driver_time(); }));
    }
    return section;
}

/// Rounds the rows' running sums, so that the printed rows add up to the printed total to the last digit.
Section wall_section(const std::vector<RankReport>& ranks) {
    Section section{"wall (s, adds up to the run)", {}};
    for (const Stage stage : wall_order) {
        section.rows.push_back({std::string(to_string(stage)), {}});
    }
    section.rows.push_back({"start-up", {}});
    section.rows.push_back({"waiting", {}});
    section.rows.push_back({"total", {}});
    for (const RankReport& rank : ranks) {
        const WallView& wall = rank.breakdown.wall;
        nanoseconds sum{0};
        std::size_t row = 0;
        const auto add = [&](nanoseconds time) {
            section.rows[row++].times.push_back(to_whole_microseconds(sum + time) - to_whole_microseconds(sum));
            sum += time;
        };
        for (const Stage stage : wall_order) {
            add(wall.stages[index_of(stage)]);
        }
        add(wall.startup);
        add(wall.waiting);
        section.rows[row].times.push_back(to_whole_microseconds(sum));
    }
    return section;
}

std::string padded(const std::string& title) {
    return fmt::format("{:<{}}", title, label_width);
}

std::string blocks_text(const Section& section, const std::vector<RankReport>& ranks) {
    std::string out;
    for (std::size_t begin = 0; begin < ranks.size(); begin += columns_a_block) {
        const std::size_t end = std::min(begin + columns_a_block, ranks.size());
        TextTable table;
        std::vector<std::string> numbers{padded(section.title)};
        std::vector<std::string> hosts{""};
        for (std::size_t column = begin; column < end; ++column) {
            numbers.push_back(fmt::format("rank {}", ranks[column].rank));
            hosts.push_back(shortened(ranks[column].host, longest_host_name));
        }
        table.add_row(std::move(numbers));
        table.add_row(std::move(hosts));
        for (const Row& row : section.rows) {
            std::vector<std::string> cells{row.label};
            for (std::size_t column = begin; column < end; ++column) {
                cells.push_back(cell(row.times[column]));
            }
            table.add_row(std::move(cells));
        }
        out += '\n' + table.text();
    }
    return out;
}

std::string summary_text(const Section& section, const std::vector<RankReport>& ranks) {
    TextTable table;
    table.add_row({padded(section.title), fmt::format("rank {}", ranks.front().rank), "minimum", "(rank)", "median",
                   "(rank)", "maximum", "(rank)"});
    for (const Row& row : section.rows) {
        std::vector<std::pair<nanoseconds, int>> happened;
        for (std::size_t column = 0; column < ranks.size(); ++column) {
            if (row.times[column]) {
                happened.emplace_back(*row.times[column], ranks[column].rank);
            }
        }
        std::sort(happened.begin(), happened.end());
        std::vector<std::string> cells{row.label, cell(row.times.front())};
        if (!happened.empty()) {
            for (const std::size_t at : {std::size_t{0}, (happened.size() - 1) / 2, happened.size() - 1}) {
                cells.push_back(seconds_text(happened[at].first));
                cells.push_back(fmt::format("({})", happened[at].second));
            }
        }
        table.add_row(std::move(cells));
    }
    return '\n' + table.text();
}

std::string length_text(nanoseconds time) {
    const double seconds = Seconds(time).count();
    return seconds < 1e-3 ? fmt::format("{:.1f} µs", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

/// "one clock" only where there is one.
std::string clock_text(const RunReport& report) {
    if (report.ranks.size() + report.lost.size() == 1) {
        return "one clock for all ranks\n";
    }
    if (report.clock_rounds == 0) {
        return "times are of rank 0's clock; those of the other ranks are lost\n";
    }
    std::string text = fmt::format("clocks aligned to ±{} (ping-pong, {} rounds)\n", length_text(report.clock_error()),
                                   report.clock_rounds);
    for (const RankReport& rank : report.ranks) {
        if (rank.clock.violation.count() > 0) {
            text += fmt::format(
                "NOTE: the clock of rank {} drifts unevenly: messages arrive up to {} before they were "
                "sent\n",
                rank.rank, length_text(rank.clock.violation));
        }
    }
    return text;
}

std::string certification_text(const RunReport& report) {
    const auto certification = report.certification();
    if (!certification || report.items_done == 0) {
        return {};
    }
    const double share =
        100.0 * static_cast<double>(certification->recomputed) / static_cast<double>(report.items_done);
    return fmt::format(
        "certified: {} items ({:.1f} %) computed again in tf32x3, {} of them in fp32, {}\n", certification->recomputed,
        share, certification->recomputed_twice,
        std::isfinite(certification->bound)
            ? fmt::format("their two best scores closer than {:.2g} of the scores' size", certification->bound)
            : std::string("all, because the items looked at did not bound the error of fp16"));
}

/// What other ranks had done, when their times are lost.
std::string lost_text(const std::vector<LostRank>& lost) {
    if (lost.empty()) {
        return {};
    }
    TextTable table;
    table.add_row({padded("returned by"), "chunks", "items"});
    for (const LostRank& rank : lost) {
        table.add_row({fmt::format("rank {} on {}", rank.rank, shortened(rank.host, longest_host_name)),
                       fmt::format("{}", rank.chunks), fmt::format("{}", rank.items)});
    }
    return '\n' + table.text();
}

/// Component by component, because escaped() cuts long texts and a path is wanted whole.
std::string path_text(std::string_view path) {
    std::string out;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        out += escaped(path.substr(0, slash)) + '/';
        path.remove_prefix(slash + 1);
    }
    return out + escaped(path);
}

/// What the whole job took, when this was not its only attempt.
std::string job_text(const std::vector<AttemptSummary>& attempts) {
    if (attempts.size() < 2) {
        return {};
    }
    const auto text_of = [](Seconds time) { return seconds_text(std::chrono::round<nanoseconds>(time)); };
    const JobTotals totals = totals_of(attempts);
    return fmt::format("whole job: {} attempts, {} items computed, {} s, {}{} device-seconds\n", totals.attempts,
                       totals.items_done, text_of(totals.seconds), totals.devices_known ? "" : "at least ",
                       text_of(totals.device_seconds));
}

std::string header(const RunReport& report, bool timed) {
    const nanoseconds wall = wall_time(report.ranks);
    std::size_t devices = 0;
    for (const RankReport& rank : report.ranks) {
        devices += rank.milestones.first_compute.size();
    }
    const std::size_t ranks = report.ranks.size() + report.lost.size();
    const bool all_here = report.items_done == report.items;
    const std::string count = (report.partial() ? "PARTIAL: " : "") +
                              (all_here ? fmt::format("{} items", report.items) : count_text(report.count()));
    const char* const before_time = report.items_before == 0 ? " in" : ";";
    const std::string rate =
        wall > nanoseconds(0)
            ? fmt::format(": {} items/s", rate_text(static_cast<double>(report.items_done) / Seconds(wall).count()))
            : std::string();
    std::string out = timed ? fmt::format("{}{} {} s{}\n", count, before_time, seconds_text(wall), rate) : count + '\n';
    out += job_text(report.attempts);
    if (!report.failed_items.empty()) {
        out += fmt::format(
            "{} item{} left out: {}{}\n", report.failed_items.size(), report.failed_items.size() == 1 ? "" : "s",
            fmt::join(std::span(report.failed_items).first(std::min(most_named, report.failed_items.size())), ", "),
            report.failed_items.size() > most_named ? ", …" : "");
    }
    if (!report.ended_by.empty()) {
        out += fmt::format("ended by {}\n", report.ended_by);
    }
    out += fmt::format("{} chunk{} of up to {} items, depth {}, {}, {}; {} rank{}, {} device{} ({}{}{})\n",
                       report.chunks, report.chunks == 1 ? "" : "s", report.chunk_items, report.depth,
                       word_for(report.mode), word_for(report.distribution), ranks, ranks == 1 ? "" : "s", devices,
                       devices == 1 ? "" : "s", word_for(report.device),
                       report.device == DeviceKind::cuda ? fmt::format(", {}", name_of(report.precision)) : "",
                       report.device_note.empty() ? "" : fmt::format("; {}", report.device_note));
    if (!report.chunk_note.empty()) {
        out += report.chunk_note + '\n';
    }
    out += clock_text(report);
    out += certification_text(report);
    for (const auto& [name, path] :
         {std::pair{"output", &report.output_path}, std::pair{"report", &report.report_path}}) {
        if (!path->empty()) {
            out += fmt::format("{}: {}\n", name, path_text(*path));
        }
    }
    return out;
}

}  // namespace

std::string latency_table(const RunReport& report) {
    expects(!report.ranks.empty(), "a run has at least one rank");
    expects(report.items_before + report.items_done <= report.items, "a run finishes at most the items of its input");
    const std::string withheld = why_withheld(report);
    std::string out = header(report, withheld.empty());
    if (!withheld.empty()) {
        out += fmt::format("\nthe latency table is withheld because its times cannot be trusted: {}\n", withheld);
    } else {
        const bool summary = report.ranks.size() > most_columns;
        for (const Section& section :
             {event_section(report.ranks), busy_section(report.ranks), wall_section(report.ranks)}) {
            out += summary ? summary_text(section, report.ranks) : blocks_text(section, report.ranks);
        }
        if (summary) {
            out += fmt::format(
                "\n{} ranks: a row's minimum, median and maximum are different ranks', so only rank {}'s wall "
                "rows add up; the JSON report has every rank\n",
                report.ranks.size(), report.ranks.front().rank);
        }
    }
    out += lost_text(report.lost) + '\n';
    const Verdict verdict = verdict_of(report);
    for (const std::string& note : verdict.notes) {
        out += note + '\n';
    }
    return out + verdict.line + '\n';
}

}  // namespace sluice
