#include "scheduler/model_counts.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice {

void add_counts(std::vector<ModelCount>& all, std::span<const ModelCount> more) {
    for (const ModelCount& count : more) {
        const auto same = std::ranges::find(all, count.name, &ModelCount::name);
        if (same == all.end()) {
            all.push_back(count);
        } else {
            same->value += count.value;
        }
    }
}

nlohmann::json to_json(std::span<const ModelCount> counts) {
    nlohmann::json json = nlohmann::json::array();
    for (const ModelCount& count : counts) {
        json.push_back({count.name, count.value, static_cast<int>(count.beside)});
    }
    return json;
}

std::vector<ModelCount> counts_from(const nlohmann::json& json) {
    std::vector<ModelCount> counts;
    for (const nlohmann::json& count : json) {
        counts.push_back({.name = count.at(0).get<std::string>(),
                          .value = count.at(1).get<std::uint64_t>(),
                          .beside = static_cast<ModelCount::Beside>(count.at(2).get<int>())});
    }
    return counts;
}

}  // namespace sluice
