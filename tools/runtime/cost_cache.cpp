#include "tools/runtime/cost_cache.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/output/output_file.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

constexpr int schema = 3;
constexpr const char* costs_of_apps = "costs";
constexpr const char* peaks = "peaks";
constexpr std::size_t most_entries = 64;  // old versions' entries are evicted

Json to_json(const StageCost& cost) {
    return Json::array({cost.fixed, cost.an_item});
}

StageCost to_stage_cost(const Json& json) {
    return {.fixed = json.at(0).get<double>(), .an_item = json.at(1).get<double>()};
}

bool plausible(const StageCost& cost) {
    return std::isfinite(cost.fixed) && std::isfinite(cost.an_item) && cost.fixed >= 0 && cost.an_item >= 0;
}

/// Null if the file is missing or not a cache.
Json read_cache(const std::filesystem::path& file) {
    std::ifstream stream(file);
    Json json = Json::parse(stream, nullptr, false);
    return json.is_object() && json.value("schema", Json()) == schema && json.contains("costs") &&
                   json.at("costs").is_object()
               ? json
               : Json();
}

/// Order in which entries were stored: increases with each.
std::uint64_t turn_of(const Json& entry) {
    if (!entry.is_object() || !entry.contains("turn") || !entry.at("turn").is_number_unsigned()) {
        return 0;
    }
    return entry.at("turn").get<std::uint64_t>();
}

bool kept_before(const Json& a, const Json& b) {
    return turn_of(a) < turn_of(b);
}

/// Stores `entry` among those of its kind, evicting the oldest of too many. Returns why it failed, or an empty string.
std::string keep_entry(const std::filesystem::path& file, const char* kind, const std::string& key, Json entry) {
    try {
        Json cache = read_cache(file);
        if (cache.is_null()) {
            cache = {{"schema", schema}, {costs_of_apps, Json::object()}};
        }
        Json& all = cache[kind];
        if (!all.is_object()) {
            all = Json::object();
        }
        const auto last = std::max_element(all.begin(), all.end(), kept_before);
        entry["turn"] = last == all.end() ? 0 : turn_of(*last) + 1;
        all[key] = std::move(entry);
        while (all.size() > most_entries) {
            all.erase(std::min_element(all.begin(), all.end(), kept_before));
        }
        std::error_code error;
        std::filesystem::create_directories(file.parent_path(), error);
        if (error) {
            return error.message();
        }
        OutputFile out(file);
        out.write(cache.dump(1) + "\n");
        out.publish();
        return {};
    } catch (const Error& error) {
        return error.text().what;
    }
}

}  // namespace

std::optional<std::filesystem::path> cost_cache_file() {
    const auto folder = [](const char* variable) {
        const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets these
        return std::filesystem::path(value == nullptr ? "" : value);
    };
    const std::filesystem::path cache = folder("XDG_CACHE_HOME");
    if (cache.is_absolute()) {
        return cache / "sluice" / "costs.json";
    }
    const std::filesystem::path home = folder("HOME");
    return home.is_absolute() ? std::optional(home / ".cache" / "sluice" / "costs.json") : std::nullopt;
}

std::optional<MeasuredCosts> find_costs(const std::filesystem::path& file, const std::string& key) {
    const Json cache = read_cache(file);
    if (cache.is_null() || !cache.at("costs").contains(key)) {
        return std::nullopt;
    }
    try {
        const Json& entry = cache.at("costs").at(key);
        const MeasuredCosts found{.costs = {.upload = to_stage_cost(entry.at("upload")),
                                            .compute = to_stage_cost(entry.at("compute")),
                                            .download = to_stage_cost(entry.at("download")),
                                            .whole_items = entry.at("whole_items").get<std::uint32_t>(),
                                            .largest_measured = entry.at("largest_measured").get<std::uint32_t>(),
                                            .is_complete = entry.at("is_complete").get<bool>()},
                                  .job_items = entry.at("job_items").get<std::uint64_t>(),
                                  .least_items = entry.at("least_items").get<std::uint32_t>(),
                                  .most_items = entry.at("most_items").get<std::uint32_t>()};
        const CostModel& costs = found.costs;
        const bool usable = plausible(costs.upload) && plausible(costs.compute) && plausible(costs.download) &&
                            costs.whole_items > 0 && costs.largest_measured > 0 && found.least_items > 0 &&
                            found.most_items >= found.least_items;
        return usable ? std::optional(found) : std::nullopt;
    } catch (const Json::exception&) {  // not one of ours
        return std::nullopt;
    }
}

std::string keep_costs(const std::filesystem::path& file, const std::string& key, const MeasuredCosts& costs) {
    return keep_entry(file, costs_of_apps, key,
                      {{"upload", to_json(costs.costs.upload)},
                       {"compute", to_json(costs.costs.compute)},
                       {"download", to_json(costs.costs.download)},
                       {"whole_items", costs.costs.whole_items},
                       {"largest_measured", costs.costs.largest_measured},
                       {"is_complete", costs.costs.is_complete},
                       {"job_items", costs.job_items},
                       {"least_items", costs.least_items},
                       {"most_items", costs.most_items}});
}

std::optional<double> find_peak(const std::filesystem::path& file, const std::string& key) {
    const Json cache = read_cache(file);
    if (cache.is_null() || !cache.contains(peaks) || !cache.at(peaks).is_object() || !cache.at(peaks).contains(key)) {
        return std::nullopt;
    }
    const Json& entry = cache.at(peaks).at(key);
    if (!entry.is_object() || !entry.contains("flop") || !entry.at("flop").is_number()) {
        return std::nullopt;
    }
    const auto flop = entry.at("flop").get<double>();
    return std::isfinite(flop) && flop > 0 ? std::optional(flop) : std::nullopt;
}

std::string keep_peak(const std::filesystem::path& file, const std::string& key, double flop_a_second) {
    return keep_entry(file, peaks, key, {{"flop", flop_a_second}});
}

}  // namespace sluice
