#include "scheduler/report_diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/text/wording.hpp"
#include "scheduler/report_conditions.hpp"
#include "scheduler/text_table.hpp"

namespace sluice {
namespace {

using ReadJson = nlohmann::json;

constexpr double telling_change = 0.03;  // of a rate or the run; less is within what runs differ by
constexpr double telling_row = 0.01;     // of the run: smaller changes of wall rows are not shown
constexpr double telling_device = 0.1;   // beyond the change of the middle one
constexpr std::size_t most_rows_in_words = 3;

std::optional<double> number_at(const ReadJson& report, const char* pointer) {
    const ReadJson::json_pointer place(pointer);
    return report.contains(place) && report.at(place).is_number() ? std::optional(report.at(place).get<double>())
                                                                  : std::nullopt;
}

NumberPair pair_at(std::string name, const ReadJson& before, const ReadJson& after, const char* pointer) {
    return {.name = std::move(name), .before = number_at(before, pointer), .after = number_at(after, pointer)};
}

bool is_known(const NumberPair& pair) {
    return pair.before || pair.after;
}

/// All members of two objects that are numbers, in the first one's order.
std::vector<NumberPair> members(const ReadJson& before, const ReadJson& after, const char* pointer) {
    const ReadJson::json_pointer place(pointer);
    const ReadJson none = ReadJson::object();
    const ReadJson& old_ones = before.contains(place) ? before.at(place) : none;
    const ReadJson& new_ones = after.contains(place) ? after.at(place) : none;
    std::vector<NumberPair> pairs;
    const auto value = [](const ReadJson& object, const std::string& key) {
        const auto found = object.find(key);
        return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
    };
    for (const auto& [key, unused] : old_ones.items()) {
        pairs.push_back({.name = key, .before = value(old_ones, key), .after = value(new_ones, key)});
    }
    for (const auto& [key, unused] : new_ones.items()) {
        if (!old_ones.contains(key)) {
            pairs.push_back({.name = key, .after = value(new_ones, key)});
        }
    }
    std::erase_if(pairs, [](const NumberPair& pair) { return !is_known(pair); });
    return pairs;
}

double absolute_change(const NumberPair& pair) {
    return pair.after.value_or(0) - pair.before.value_or(0);
}

std::vector<NumberPair> wall_rows(const ReadJson& before, const ReadJson& after) {
    std::vector<NumberPair> rows = members(before, after, "/ranks/0/wall");
    std::erase_if(rows, [](const NumberPair& row) { return row.name == "total"; });
    std::ranges::stable_sort(rows, std::ranges::greater(),
                             [](const NumberPair& row) { return std::abs(absolute_change(row)); });
    return rows;
}

std::map<std::string, double> compute_rates(const ReadJson& report) {
    std::map<std::string, double> rates;
    for (const ReadJson& rank : report.at("ranks")) {
        if (!rank.contains("instances")) {
            continue;
        }
        for (const ReadJson& instance : rank.at("instances")) {
            const double busy = instance.at("busy").get<double>();
            if (instance.at("stage") == "compute" && busy > 0) {
                rates[fmt::format("{} on rank {}", instance.at("name").get<std::string>(), rank.at("rank").dump())] =
                    instance.at("items").get<double>() / busy;
            }
        }
    }
    return rates;
}

std::vector<NumberPair> devices_of_both(const ReadJson& before, const ReadJson& after) {
    const auto old_ones = compute_rates(before);
    std::vector<NumberPair> both;
    for (const auto& [name, rate] : compute_rates(after)) {
        if (const auto old_one = old_ones.find(name); old_one != old_ones.end()) {
            both.push_back({.name = name, .before = old_one->second, .after = rate});
        }
    }
    return both;
}

std::string verdict_of(const ReadJson& report) {
    return report.at("verdict").at("text").get<std::string>();
}

std::vector<std::string> notes_of(const ReadJson& report) {
    return report.at("verdict").at("notes").get<std::vector<std::string>>();
}

/// A fall of less than 100 % is never rounded to one.
std::string percent(double change) {
    constexpr double greatest_fall = -0.999;
    return fmt::format("{:+.1f} %", 100 * (change > -1 ? std::max(change, greatest_fall) : change));
}

std::string signed_time(double seconds) {
    return (seconds < 0 ? "-" : "+") + time_text(std::abs(seconds));
}

/// "only compute", "(load)" as the table says.
std::string row_name(const std::string& name) {
    static const std::set<std::string> whole{"overlapped", "waiting", "suspended"};
    static const std::set<std::string> stages{"read",     "parse",  "scatter", "upload", "compute",
                                              "download", "gather", "write",   "commit"};
    return whole.contains(name) ? name : stages.contains(name) ? "only " + name : "(" + name + ")";
}

/// Of runs whose items are not the same work.
void conclude_on_work(ReportDiff& diff) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 3> work{
        {{"app", "another app"}, {input_identity, "another input"}, {weights_identity, "other weights"}}};
    std::vector<const char*> other;
    for (const auto& [name, what] : work) {
        if (std::ranges::find(diff.conditions, name, &Difference::name) != diff.conditions.end()) {
            other.push_back(what);
        }
    }
    if (!other.empty()) {
        diff.conclusions.push_back(
            fmt::format("the runs did different work ({}): an item of one may take longer than one of the other",
                        fmt::join(other, ", ")));
    }
}

void conclude_on_time(ReportDiff& diff) {
    const NumberPair& run = diff.times.front();
    const auto change = run.change();
    if (!change) {
        return;
    }
    if (diff.items.before != diff.items.after) {
        diff.conclusions.emplace_back("the runs did different numbers of items: compare their rates, not their times");
        return;
    }
    if (std::abs(*change) < telling_change) {
        diff.conclusions.push_back(fmt::format("both runs took the same time, but for {}", percent(*change)));
        return;
    }
    const double more = absolute_change(run);
    std::vector<std::string> causes;
    for (const NumberPair& row : diff.wall) {
        const double part = absolute_change(row);
        if (causes.size() < most_rows_in_words && std::abs(part) >= telling_row * *run.before &&
            (part > 0) == (more > 0)) {
            causes.push_back(fmt::format("{} {}", row_name(row.name), signed_time(part)));
        }
    }
    diff.conclusions.push_back(fmt::format("the second run took {} {} ({}){}{}", time_text(std::abs(more)),
                                           more > 0 ? "longer" : "less", percent(*change), causes.empty() ? "" : ": ",
                                           fmt::join(causes, ", ")));
}

void conclude_on_rate(ReportDiff& diff, const ReadJson& after) {
    const auto steady = diff.rates.back().change();
    if (!steady || std::abs(*steady) < telling_change) {
        return;
    }
    const ReadJson& least = after.at("verdict").contains("least") ? after.at("verdict").at("least") : ReadJson();
    const auto stage = std::ranges::find_if(
        diff.capacities, [&](const NumberPair& capacity) { return least.is_string() && capacity.name == least; });
    if (stage == diff.capacities.end() || !stage->change()) {
        return;
    }
    diff.conclusions.push_back(
        fmt::format("the steady rate changed by {}, the capacity of {}, which has the least "
                    "now, by {}",
                    percent(*steady), stage->name, percent(*stage->change())));
}

/// Those that became slower than the others did.
void conclude_on_devices(ReportDiff& diff) {
    std::vector<std::pair<double, const NumberPair*>> changes;
    for (const NumberPair& device : diff.devices) {
        if (const auto change = device.change()) {
            changes.emplace_back(*change, &device);
        }
    }
    if (changes.size() < 2) {
        return;
    }
    std::ranges::sort(changes);
    const double middle = changes[changes.size() / 2].first;
    for (std::size_t i = 0; i < std::min(changes.size(), most_rows_in_words); ++i) {
        const auto& [change, device] = changes[i];
        if (change < middle - telling_device) {
            diff.conclusions.push_back(fmt::format("{} computes {} items/s, {} before: {}, the middle one {}",
                                                   device->name, rate_text(*device->after), rate_text(*device->before),
                                                   percent(change), percent(middle)));
        }
    }
}

TextRows rows_of(const std::string& title, const std::vector<NumberPair>& pairs, std::string (*text)(double)) {
    TextRows rows{{title, "before", "after", "change"}};
    for (const NumberPair& pair : pairs) {
        const auto cell = [&](const std::optional<double>& value) { return value ? text(*value) : "-"; };
        const auto change = pair.change();
        rows.push_back({pair.name, cell(pair.before), cell(pair.after), change ? percent(*change) : ""});
    }
    return rows;
}

std::string verdict_text(std::string_view label, const std::string& verdict, const std::vector<std::string>& notes) {
    std::string text = fmt::format("{}{}\n", label, verdict);
    for (const std::string& note : notes) {
        text += fmt::format("{:{}}{}\n", "", label.size(), note);
    }
    return text;
}

void append(TextRows& rows, const TextRows& more) {
    rows.insert(rows.end(), more.begin() + 1, more.end());
}

ReadJson number_or_null(const std::optional<double>& value) {
    return value ? ReadJson(*value) : ReadJson(nullptr);
}

nlohmann::ordered_json as_object(const std::vector<NumberPair>& pairs) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const NumberPair& pair : pairs) {
        object[pair.name] = {{"before", number_or_null(pair.before)},
                             {"after", number_or_null(pair.after)},
                             {"change", number_or_null(pair.change())}};
    }
    return object;
}

}  // namespace

std::optional<double> NumberPair::change() const {
    return before && after && *before != 0 ? std::optional((*after - *before) / *before) : std::nullopt;
}

ReportDiff diff_reports(const ReadJson& before, const ReadJson& after) {
    ReportDiff diff{
        .items = pair_at("items", before, after, "/run/items_done"),
        .times = {pair_at("run", before, after, "/run/wall"), pair_at("start-up", before, after, "/verdict/startup"),
                  pair_at("end", before, after, "/verdict/end")},
        .rates = {pair_at("whole run, items/s", before, after, "/run/throughput"),
                  pair_at("steady, items/s", before, after, "/verdict/steady")},
        .gpus = {pair_at("GPU clock, MHz", before, after, "/gpu_cost/clock_mhz/mean"),
                 pair_at("power of all GPUs, W", before, after, "/gpu_cost/watts")},
        .conditions = different_conditions(before, after),
        .capacities = members(before, after, "/verdict/capacity"),
        .wall = wall_rows(before, after),
        .devices = devices_of_both(before, after),
        .verdict_before = verdict_of(before),
        .verdict_after = verdict_of(after),
        .notes_before = notes_of(before),
        .notes_after = notes_of(after)};
    std::erase_if(diff.gpus, [](const NumberPair& pair) { return !is_known(pair); });
    conclude_on_work(diff);
    conclude_on_time(diff);
    conclude_on_rate(diff, after);
    conclude_on_devices(diff);
    if (diff.conditions.empty()) {
        diff.conclusions.emplace_back(
            "job, program and machines are the same, as far as reports say: what differs is what else was at work "
            "there, or chance");
    }
    return diff;
}

std::string diff_text(const ReportDiff& diff) {
    const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
    TextRows totals = rows_of("", {diff.items}, whole);
    append(totals, rows_of("", diff.times, [](double value) { return time_text(value); }));
    append(totals, rows_of("", diff.rates, [](double value) { return rate_text(value); }));
    append(totals, rows_of("", diff.gpus, whole));
    std::string text = text_table(totals);
    if (!diff.capacities.empty()) {
        text += '\n' +
                text_table(rows_of("stage, items/s", diff.capacities, [](double value) { return rate_text(value); }));
    }
    TextRows wall{{"wall of rank 0", "before", "after", "change"}};
    const double shown_from = telling_row * diff.times.front().before.value_or(0);
    for (const NumberPair& row : diff.wall) {
        if (row.before && row.after && std::abs(absolute_change(row)) >= shown_from) {
            wall.push_back(
                {row_name(row.name), time_text(*row.before), time_text(*row.after), signed_time(absolute_change(row))});
        }
    }
    if (wall.size() > 1) {
        text += '\n' + text_table(wall);
    }
    text += diff.conditions.empty() ? "" : "\nwhat differs (before; after):\n";
    for (const Difference& one : diff.conditions) {
        const auto or_dash = [](const std::string& value) { return value.empty() ? std::string("-") : value; };
        text += fmt::format("  {}: {}; {}\n", one.name, or_dash(one.before), or_dash(one.after));
    }
    text += '\n' + verdict_text("before: ", diff.verdict_before, diff.notes_before) +
            verdict_text("after:  ", diff.verdict_after, diff.notes_after);
    for (const std::string& conclusion : diff.conclusions) {
        text += conclusion + '\n';
    }
    return text;
}

nlohmann::ordered_json diff_json(const ReportDiff& diff) {
    nlohmann::ordered_json conditions = nlohmann::ordered_json::object();
    for (const Difference& one : diff.conditions) {
        conditions[one.name] = {{"before", one.before}, {"after", one.after}};
    }
    return {{"items", as_object({diff.items}).at("items")},
            {"times", as_object(diff.times)},
            {"rates", as_object(diff.rates)},
            {"gpus", as_object(diff.gpus)},
            {"capacity", as_object(diff.capacities)},
            {"wall", as_object(diff.wall)},
            {"devices", as_object(diff.devices)},
            {"conditions", std::move(conditions)},
            {"verdict", {{"before", diff.verdict_before}, {"after", diff.verdict_after}}},
            {"notes", {{"before", diff.notes_before}, {"after", diff.notes_after}}},
            {"conclusions", diff.conclusions}};
}

}  // namespace sluice
