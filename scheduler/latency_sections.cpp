#include "scheduler/latency_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "scheduler/text_table.hpp"

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Moment = RelativeMilestones::Moment;

constexpr std::size_t columns_per_block = 8;  // fits 132 characters with six digits before the point
constexpr std::size_t most_columns = 64;      // beyond, columns summarise
constexpr std::size_t most_device_rows = 8;   // beyond, rows summarise

/// One line of a section: a time per rank, in rank order; nullopt: did not happen there.
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

/// In milliseconds, to the microsecond.
std::string ms_text(nanoseconds time) {
    const auto total = std::chrono::round<microseconds>(time).count();
    const auto size = std::abs(total);
    return fmt::format("{}{}.{:03}", total < 0 ? "-" : "", size / 1'000, size % 1'000);
}

std::string cell(const Moment& time) {
    return time ? ms_text(*time) : "-";
}

Row row_of(std::string label, const std::vector<RankReport>& ranks,
           const std::function<Moment(const RankReport&)>& value) {
    Row row{std::move(label), {}};
    for (const RankReport& rank : ranks) {
        row.times.push_back(value(rank));
    }
    return row;
}

/// Earliest, lower median or latest of the moments that happened.
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

/// Whether a GPU driver was started; none is on a host.
bool has_driver(const std::vector<RankReport>& ranks) {
    return std::ranges::any_of(ranks, [](const RankReport& rank) { return rank.milestones.driver_time().has_value(); });
}

Section event_section(const std::vector<RankReport>& ranks) {
    Section section{"event (ms since the start)", {}};
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
    add("last chunk written", &RelativeMilestones::written);
    add("finish", &RelativeMilestones::finish);
    const auto earliest = [](const Row& row) {
        Moment first;
        for (const Moment& moment : row.times) {
            first = moment && (!first || *moment < *first) ? moment : first;
        }
        return first.value_or(nanoseconds::max());
    };
    std::ranges::stable_sort(section.rows, {}, earliest);
    return section;
}

Section busy_section(const std::vector<RankReport>& ranks) {
    Section section{"stage (ms, may overlap)", {}};
    for (const Stage stage : all_stages) {
        if (std::ranges::all_of(ranks, [&](const RankReport& rank) { return rank.breakdown.at(stage).chunks == 0; })) {
            continue;
        }
        const auto add = [&](const char* kind, nanoseconds StageTotals::*member) {
            section.rows.push_back(
                row_of(fmt::format("{:<8} {}", to_string(stage), kind), ranks, [stage, member](const RankReport& rank) {
                    const StageTotals& totals = rank.breakdown.at(stage);
                    return totals.chunks == 0 ? Moment() : Moment(totals.*member);
                }));
        };
        add("busy", &StageTotals::busy);
        add("active", &StageTotals::active);
        add("exposed", &StageTotals::exposed);
    }
    if (has_driver(ranks)) {
        section.rows.push_back(
            row_of("driver   start", ranks, [](const RankReport& rank) { return rank.milestones.driver_time(); }));
    }
    return section;
}

/// Rounds the running sums, so that the printed rows add up to the printed total exactly. Rows of zero time are
/// omitted.
Section wall_section(const std::vector<RankReport>& ranks) {
    Section section{"wall (ms, adds up to the run)", {}};
    for (const WallRow& row : wall_rows(ranks.front().breakdown.wall)) {
        section.rows.push_back({row.label, {}});
    }
    section.rows.push_back({"total", {}});
    for (const RankReport& rank : ranks) {
        nanoseconds sum{0};
        std::size_t at = 0;
        for (const WallRow& row : wall_rows(rank.breakdown.wall)) {
            section.rows[at++].times.push_back(to_whole_microseconds(sum + row.time) - to_whole_microseconds(sum));
            sum += row.time;
        }
        section.rows[at].times.push_back(to_whole_microseconds(sum));
    }
    std::erase_if(section.rows, [](const Row& row) {
        return row.label != "total" &&
               std::ranges::all_of(row.times, [](const Moment& time) { return time->count() == 0; });
    });
    return section;
}

std::string padded(const std::string& title) {
    return fmt::format("{:<{}}", title, label_width);
}

std::string blocks_text(const Section& section, const std::vector<RankReport>& ranks) {
    std::string out;
    for (std::size_t begin = 0; begin < ranks.size(); begin += columns_per_block) {
        const std::size_t end = std::min(begin + columns_per_block, ranks.size());
        TextRows table;
        std::vector<std::string> numbers{padded(section.title)};
        std::vector<std::string> hosts{""};
        for (std::size_t column = begin; column < end; ++column) {
            numbers.push_back(fmt::format("rank {}", ranks[column].rank));
            hosts.push_back(shortened(ranks[column].host, longest_host_name));
        }
        table.push_back(std::move(numbers));
        table.push_back(std::move(hosts));
        for (const Row& row : section.rows) {
            std::vector<std::string> cells{row.label};
            for (std::size_t column = begin; column < end; ++column) {
                cells.push_back(cell(row.times[column]));
            }
            table.push_back(std::move(cells));
        }
        out += '\n' + text_table(table);
    }
    return out;
}

std::string summary_text(const Section& section, const std::vector<RankReport>& ranks) {
    TextRows table;
    table.push_back({padded(section.title), fmt::format("rank {}", ranks.front().rank), "minimum", "(rank)", "median",
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
                cells.push_back(ms_text(happened[at].first));
                cells.push_back(fmt::format("({})", happened[at].second));
            }
        }
        table.push_back(std::move(cells));
    }
    return '\n' + text_table(table);
}

}  // namespace

std::vector<WallRow> wall_rows(const WallView& wall) {
    std::vector<WallRow> rows;
    const auto add_phases = [&](Phase from, Phase to) {
        for (auto phase = static_cast<std::size_t>(from); phase <= static_cast<std::size_t>(to); ++phase) {
            rows.push_back({fmt::format("({})", to_string(static_cast<Phase>(phase))), wall.phases[phase]});
        }
    };
    add_phases(Phase::launch, Phase::suspects);
    for (const Stage stage : all_stages) {
        rows.push_back({fmt::format("only {}", to_string(stage)), wall.stages[index_of(stage)]});
    }
    rows.push_back({"overlapped", wall.overlapped});
    rows.push_back({"waiting", wall.waiting});
    rows.push_back({"suspended", wall.suspended});
    add_phases(Phase::publish, Phase::finish);
    return rows;
}

std::string sections_text(const RunReport& report) {
    const bool summary = report.ranks.size() > most_columns;
    std::string out;
    for (const Section& section :
         {event_section(report.ranks), busy_section(report.ranks), wall_section(report.ranks)}) {
        out += summary ? summary_text(section, report.ranks) : blocks_text(section, report.ranks);
    }
    if (summary) {
        out += fmt::format(
            "\n{} ranks: a row's minimum, median and maximum are different ranks', so only rank {}'s "
            "wall rows add up; the JSON report has every rank\n",
            report.ranks.size(), report.ranks.front().rank);
    }
    return out;
}

}  // namespace sluice
