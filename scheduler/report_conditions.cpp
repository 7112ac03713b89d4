#include "scheduler/report_conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

using ReadJson = nlohmann::json;

/// As it stands in a job file, or in a report; 1.0 as 1, since programs between here and there write it so.
std::string shown(const ReadJson& value) {
    if (value.is_number_float() && value == std::round(value.get<double>())) {
        return fmt::format("{}", value.get<double>());
    }
    return value.is_null() ? "" : escaped(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Values of an object, by their place in it: "pipeline.depth".
void flatten(const ReadJson& object, const std::string& prefix, std::map<std::string, std::string>& to) {
    for (const auto& [key, value] : object.items()) {
        const std::string name = prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
        if (value.is_object()) {
            flatten(value, name, to);
        } else {
            to[name] = shown(value);
        }
    }
}

/// What stands at `pointer` in each of `ranks`, and how often.
std::map<std::string, std::size_t> all_of(const ReadJson& ranks, const char* pointer) {
    std::map<std::string, std::size_t> values;
    for (const ReadJson& rank : ranks) {
        const ReadJson::json_pointer place(pointer);
        if (!rank.contains(place)) {
            continue;
        }
        const ReadJson& value = rank.at(place);
        if (value.is_array()) {
            for (const ReadJson& one : value) {
                ++values[shown(one)];
            }
        } else if (!value.is_null()) {
            ++values[shown(value)];
        }
    }
    return values;
}

/// "a, b".
std::string kinds(const std::map<std::string, std::size_t>& values) {
    std::vector<std::string> all;
    all.reserve(values.size());
    for (const auto& [value, count] : values) {
        all.push_back(value);
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

/// "a (2), b".
std::string counted(const std::map<std::string, std::size_t>& values) {
    std::vector<std::string> all;
    all.reserve(values.size());
    for (const auto& [value, count] : values) {
        all.push_back(count == 1 ? value : fmt::format("{} ({})", value, count));
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

/// "8", or "8, 1 to 3 a rank".
std::string devices_of(const ReadJson& ranks, const ReadJson& lost) {
    std::size_t all = 0;
    std::set<std::size_t> of_rank;
    const auto add = [&](std::size_t devices) {
        all += devices;
        of_rank.insert(devices);
    };
    for (const ReadJson& rank : ranks) {
        add(rank.at("milestones").at("first_compute").size());
    }
    for (const ReadJson& rank : lost) {
        add(rank.at("devices").get<std::size_t>());
    }
    return of_rank.size() < 2 ? std::to_string(all)
                              : fmt::format("{}, {} to {} a rank", all, *of_rank.begin(), *of_rank.rbegin());
}

constexpr std::string_view identity_prefix = "identity of ";

std::map<std::string, std::string> conditions_of(const ReadJson& report) {
    static constexpr std::array paths{"output.path", "output.report", "output.trace"};  // of each run its own
    std::map<std::string, std::string> all;
    flatten(report.at("config"), "", all);
    for (const char* const path : paths) {
        all.erase(path);
    }
    const ReadJson& provenance = report.at("provenance");
    for (const auto& [name, value] : provenance.at("identity").items()) {  // files' contents, what "auto" came to
        all[fmt::format("{}{}", identity_prefix, name)] = shown(value);
    }
    for (const char* const name : {"version", "commit", "compiler", "build", "mpi", "cuda"}) {
        all[fmt::format("program's {}", name)] = shown(provenance.at(name));
    }
    const ReadJson& run = report.at("run");
    for (const char* const name : {"device", "chunk_items", "depth"}) {
        all[fmt::format("chosen {}", name)] = shown(run.at(name));
    }
    all["most chunks read ahead"] = shown(run.at("staged"));
    all["most chunks whose results wait for an earlier one"] = shown(run.at("window"));
    all["threads that make rows"] = shown(run.at("encoders").at("used"));
    all["ended early"] = run.at("partial") == true ? "yes" : "no";
    all["ended by"] = shown(run.at("ended_by"));
    all["items left out"] = std::to_string(run.at("failed_items").size());
    const ReadJson& ranks = report.at("ranks");
    const ReadJson& lost = report.at("lost");
    ReadJson hosts = ranks;
    hosts.insert(hosts.end(), lost.begin(), lost.end());
    all["ranks"] = std::to_string(hosts.size());
    all["devices"] = devices_of(ranks, lost);
    all["hosts"] = counted(all_of(hosts, "/host"));
    all["CPUs"] = kinds(all_of(ranks, "/facts/cpu"));
    all["GPUs"] = counted(all_of(ranks, "/facts/gpus"));
    all["NVIDIA driver"] = kinds(all_of(ranks, "/facts/driver"));
    return all;
}

}  // namespace

std::vector<Difference> different_conditions(const ReadJson& before, const ReadJson& after) {
    const auto old_ones = conditions_of(before);
    const auto new_ones = conditions_of(after);
    std::vector<Difference> found;
    for (const auto& [name, value] : old_ones) {
        const auto other = new_ones.find(name);
        const std::string& now = other == new_ones.end() ? std::string() : other->second;
        if (now != value) {
            found.push_back({.name = name, .before = value, .after = now});
        }
    }
    for (const auto& [name, value] : new_ones) {
        if (!old_ones.contains(name) && !value.empty()) {
            found.push_back({.name = name, .after = value});
        }
    }
    std::set<std::string> settings;
    std::ranges::transform(found, std::inserter(settings, settings.end()), &Difference::name);
    std::erase_if(found, [&](const Difference& one) {  // of a setting that differs itself, and names no file
        return one.name.starts_with(identity_prefix) && one.name != weights_identity &&
               settings.contains(one.name.substr(identity_prefix.size()));
    });
    return found;
}

}  // namespace sluice
