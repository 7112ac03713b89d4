#include "scheduler/report_scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/text/wording.hpp"
#include "scheduler/report_conditions.hpp"
#include "scheduler/text_table.hpp"

namespace sluice {
namespace {

using ReportJson = nlohmann::json;

struct ScaledRun {
    const ReportToScale* source;
    ScalePoint point;
    double items;
    std::set<std::string> gpus;  // their models
};

/// nullopt: the report has no rate.
std::optional<ScaledRun> scaled_run(const ReportToScale& source) {
    const ReportJson& run = source.report.at("run");
    const ReportJson& verdict = source.report.at("verdict");
    const ReportJson& ranks = source.report.at("ranks");
    std::set<std::string> hosts;
    std::set<std::string> gpus;
    std::size_t devices = 0;
    for (const ReportJson& rank : ranks) {
        hosts.insert(rank.at("host").get<std::string>());
        devices += rank.at("milestones").at("first_compute").size();
        for (const ReportJson& gpu : rank.at("facts").at("gpus")) {
            gpus.insert(escaped(gpu.get<std::string>()));
        }
    }
    if (!run.at("wall").is_number() || !run.at("throughput").is_number() || run.at("throughput").get<double>() <= 0 ||
        devices == 0) {
        return std::nullopt;
    }
    ScalePoint point{.nodes = hosts.size(), .ranks = ranks.size(), .devices = devices};
    point.runs = 1;
    point.wall = run.at("wall").get<double>();
    point.rate = run.at("throughput").get<double>();
    if (const auto steady = verdict.find("steady"); steady != verdict.end() && steady->is_number()) {
        point.steady = steady->get<double>();
    }
    point.verdict = escaped(verdict.at("text").get<std::string>());
    return ScaledRun{.source = &source,
                     .point = std::move(point),
                     .items = run.at("items_done").get<double>(),
                     .gpus = std::move(gpus)};
}

/// `runs` are at least one, of one point.
ScalePoint middle_of(std::vector<ScaledRun> runs) {
    std::ranges::sort(runs, {}, [](const ScaledRun& run) { return run.point.rate; });
    ScalePoint middle = runs[runs.size() / 2].point;
    middle.runs = runs.size();
    middle.spread = (runs.back().point.rate - runs.front().point.rate) / middle.rate;
    return middle;
}

SpeedUp speed_up(double rate, double first_rate, double devices) {
    return {.times = rate / first_rate, .efficiency = rate / first_rate / devices};
}

void compare_with_first(std::vector<ScalePoint>& points, bool same_items) {
    const ScalePoint& first = points.front();
    for (ScalePoint& point : points) {
        const double devices = static_cast<double>(point.devices) / static_cast<double>(first.devices);
        point.whole_speed_up = speed_up(point.rate, first.rate, devices);
        if (point.steady && first.steady && *first.steady > 0) {
            point.steady_speed_up = speed_up(*point.steady, *first.steady, devices);
        }
        if (same_items && devices > 1) {
            point.serial = (1 / point.whole_speed_up.times - 1 / devices) / (1 - 1 / devices);
        }
    }
}

/// Whether runs may differ in it and still be compared: where they run, and what follows from that.
bool belongs_to_scale(const std::string& condition) {
    static const std::set<std::string> all{"ranks", "devices",     "hosts",
                                           "GPUs",  "run.devices", "threads that make rows"};
    static constexpr std::array prefixes{"slurm.", "chosen ", "topology."};
    return all.contains(condition) ||
           std::ranges::any_of(prefixes, [&](const char* const prefix) { return condition.starts_with(prefix); });
}

/// Against the first run, each difference once, by the first run that has it.
void note_differences(std::span<const ScaledRun> runs, Scaling& scaling) {
    std::set<std::string> noted;
    const ScaledRun& first = runs.front();
    for (const ScaledRun& run : runs.subspan(1)) {
        std::vector<Difference> found = different_conditions(first.source->report, run.source->report);
        if (run.gpus != first.gpus) {
            found.push_back({.name = "model of GPUs",
                             .before = fmt::format("{}", fmt::join(first.gpus, ", ")),
                             .after = fmt::format("{}", fmt::join(run.gpus, ", "))});
        }
        for (const Difference& one : found) {
            if (!belongs_to_scale(one.name) && noted.insert(one.name).second) {
                const auto or_dash = [](const std::string& value) { return value.empty() ? "-" : value; };
                scaling.notes.push_back(fmt::format("{} differs: {} in {}; {} in {}", one.name, or_dash(one.before),
                                                    first.source->name, or_dash(one.after), run.source->name));
            }
        }
    }
}

std::string share_text(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

nlohmann::ordered_json speed_up_json(const std::optional<SpeedUp>& speed_up) {
    return speed_up ? nlohmann::ordered_json{{"times", speed_up->times}, {"efficiency", speed_up->efficiency}}
                    : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json optional_json(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

Scaling scaling_of(std::span<const ReportToScale> reports) {
    Scaling scaling;
    std::vector<ScaledRun> runs;
    for (const ReportToScale& report : reports) {
        const auto earlier = std::ranges::find(
            runs, report.report, [](const ScaledRun& run) -> const ReportJson& { return run.source->report; });
        if (earlier != runs.end()) {
            scaling.notes.push_back(
                fmt::format("{} is left out: it is the run of {}", report.name, earlier->source->name));
        } else if (std::optional<ScaledRun> run = scaled_run(report)) {
            runs.push_back(std::move(*run));
        } else {
            scaling.notes.push_back(fmt::format("{} is left out: its report has no rate", report.name));
        }
    }
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<ScaledRun>> by_point;
    for (const ScaledRun& run : runs) {
        by_point[{run.point.devices, run.point.nodes, run.point.ranks}].push_back(run);
    }
    for (const auto& [place, some] : by_point) {
        scaling.points.push_back(middle_of(some));
    }
    if (scaling.points.empty()) {
        return scaling;
    }
    const bool same_items =
        std::ranges::all_of(runs, [&](const ScaledRun& run) { return run.items == runs.front().items; });
    compare_with_first(scaling.points, same_items);
    if (!same_items) {
        scaling.notes.emplace_back("the runs did different numbers of items: speed-ups are of their rates");
    }
    note_differences(runs, scaling);
    return scaling;
}

std::string scaling_text(const Scaling& scaling) {
    TextRows rows{{"devices", "nodes", "ranks", "runs", "time", "items/s", "spread", "speed-up", "efficiency", "serial",
                   "steady items/s", "speed-up", "efficiency"}};
    std::string verdicts;
    for (const ScalePoint& point : scaling.points) {
        std::vector<std::string> row{std::to_string(point.devices),
                                     std::to_string(point.nodes),
                                     std::to_string(point.ranks),
                                     std::to_string(point.runs),
                                     time_text(point.wall),
                                     rate_text(point.rate),
                                     point.runs > 1 ? share_text(point.spread) : "-",
                                     fmt::format("{:.2f}", point.whole_speed_up.times),
                                     share_text(point.whole_speed_up.efficiency),
                                     point.serial ? share_text(*point.serial) : "-",
                                     point.steady ? rate_text(*point.steady) : "-"};
        row.push_back(point.steady_speed_up ? fmt::format("{:.2f}", point.steady_speed_up->times) : "-");
        row.push_back(point.steady_speed_up ? share_text(point.steady_speed_up->efficiency) : "-");
        rows.push_back(std::move(row));
        verdicts += fmt::format("{}, {}, {}: {}\n", count_of(point.devices, "device"), count_of(point.nodes, "node"),
                                count_of(point.ranks, "rank"), point.verdict);
    }
    std::string text = scaling.points.empty() ? "" : text_table(rows) + '\n' + verdicts;
    for (const std::string& note : scaling.notes) {
        text += "note: " + note + '\n';
    }
    return text;
}

nlohmann::ordered_json scaling_json(const Scaling& scaling) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const ScalePoint& point : scaling.points) {
        points.push_back({{"devices", point.devices},
                          {"nodes", point.nodes},
                          {"ranks", point.ranks},
                          {"runs", point.runs},
                          {"wall", point.wall},
                          {"rate", point.rate},
                          {"spread", point.spread},
                          {"speed_up", speed_up_json(point.whole_speed_up)},
                          {"serial", optional_json(point.serial)},
                          {"steady", optional_json(point.steady)},
                          {"steady_speed_up", speed_up_json(point.steady_speed_up)},
                          {"verdict", point.verdict}});
    }
    return {{"points", std::move(points)}, {"notes", scaling.notes}};
}

}  // namespace sluice
