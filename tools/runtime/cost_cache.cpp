#include "tools/runtime/cost_cache.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/machine/launch.hpp"
#include "core/output/output_file.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

constexpr int schema = 3;
constexpr const char* costs_of_apps = "costs";
constexpr const char* peaks = "peaks";
constexpr std::size_t most_entries = 64;  // old versions' entries are evicted

bool plausible(const StageCost& cost) {
    return std::isfinite(cost.fixed) && std::isfinite(cost.per_item) && cost.fixed >= 0 && cost.per_item >= 0;
}

/// Null if the file is missing or not a cache.
Json read_cache(const std::filesystem::path& file) {
    std::ifstream stream(file);
    Json json = Json::parse(stream, nullptr, false);
    return json.is_object() && json.value("schema", Json()) == schema ? json : Json();
}

/// Null if there is none.
Json find_entry(const std::filesystem::path& file, const char* kind, const std::string& key) {
    const Json cache = read_cache(file);
    const Json all = cache.is_null() ? Json() : cache.value(kind, Json());
    return all.is_object() ? all.value(key, Json()) : Json();
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
            cache = {{"schema", schema}};
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
        OutputFile out(file, "XDG_CACHE_HOME");
        out.write(cache.dump(1) + "\n");
        out.publish();
        return {};
    } catch (const Error& error) {
        return error.text().what;
    }
}

}  // namespace

void to_json(Json& to, const StageCost& from) {
    to = {from.fixed, from.per_item};
}

void from_json(const Json& from, StageCost& to) {
    to = {.fixed = from.at(0), .per_item = from.at(1)};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostModel, upload, compute, download, whole_items, largest_measured, is_complete)

std::optional<std::filesystem::path> cost_cache_file() {
    const std::filesystem::path cache = own_variable("XDG_CACHE_HOME").value_or("");
    if (cache.is_absolute()) {
        return cache / "sluice" / "costs.json";
    }
    const std::filesystem::path home = own_variable("HOME").value_or("");
    return home.is_absolute() ? std::optional(home / ".cache" / "sluice" / "costs.json") : std::nullopt;
}

std::optional<MeasuredCosts> find_costs(const std::filesystem::path& file, const std::string& key) {
    const Json entry = find_entry(file, costs_of_apps, key);
    if (entry.is_null()) {
        return std::nullopt;
    }
    try {
        const MeasuredCosts found{.costs = entry.get<CostModel>(),
                                  .job_items = entry.at("job_items"),
                                  .least_items = entry.at("least_items"),
                                  .most_items = entry.at("most_items")};
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
    Json entry = costs.costs;
    entry["job_items"] = costs.job_items;
    entry["least_items"] = costs.least_items;
    entry["most_items"] = costs.most_items;
    return keep_entry(file, costs_of_apps, key, std::move(entry));
}

std::optional<double> find_peak(const std::filesystem::path& file, const std::string& key) {
    const Json entry = find_entry(file, peaks, key);
    if (!entry.is_object() || !entry.contains("flop") || !entry.at("flop").is_number()) {
        return std::nullopt;
    }
    const auto flop = entry.at("flop").get<double>();
    return std::isfinite(flop) && flop > 0 ? std::optional(flop) : std::nullopt;
}

std::string keep_peak(const std::filesystem::path& file, const std::string& key, double flop_per_second) {
    return keep_entry(file, peaks, key, {{"flop", flop_per_second}});
}

}  // namespace sluice
