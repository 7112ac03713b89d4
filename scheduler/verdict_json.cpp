#include "scheduler/verdict.hpp"

#include <string>

#include "core/json_types.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

/// Adds what is slowed down, and why.
void add_slowed(Json& json, const Verdict& verdict) {
    json["stragglers"] = Json::array();
    for (const Straggler& straggler : verdict.stragglers) {
        json["stragglers"].push_back({{"rank", straggler.rank},
                                      {"name", straggler.name},
                                      {"rate", straggler.rate},
                                      {"median", straggler.usual},
                                      {"cost", straggler.cost}});
    }
    json["contention"] = Json::array();
    for (const Contention& contention : verdict.contended) {
        json["contention"].push_back({{"stage", to_string(contention.stage)}, {"share", contention.share}});
    }
    json["throttled"] = nullptr;
    if (verdict.throttled) {
        const CpuThrottling& lost = verdict.throttled->by_quota;
        json["throttled"] = {{"rank", verdict.throttled->rank},
                             {"periods", lost.periods},
                             {"throttled_periods", lost.throttled},
                             {"throttled", Seconds(lost.time).count()}};
    }
    json["gpu_limits"] = Json::array();
    for (const GpuLimited& limited : verdict.gpu_limits) {
        json["gpu_limits"].push_back({{"limit", gpu_limits[limited.limit].name},
                                      {"gpus", limited.gpus},
                                      {"share", limited.share},
                                      {"rank", limited.rank},
                                      {"gpu", limited.gpu}});
    }
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WhatIf, change, seconds)

void to_json(Json& json, const Verdict& verdict) {
    json = {{"text", verdict.line}, {"notes", verdict.notes}, {"bound", name_of(verdict.bound)}};
    json["binding"] = verdict.bound == Bound::stage ? Json(to_string(*verdict.binding)) : Json(nullptr);
    if (verdict.bound == Bound::unknown) {
        return;
    }
    Json capacity = Json::object();
    for (const Stage stage : all_stages) {
        capacity[std::string(to_string(stage))] = verdict.capacity[index_of(stage)];
    }
    json["least"] = to_string(*verdict.binding);
    json["rank"] = verdict.rank;
    json["achieved"] = verdict.achieved;
    json["steady"] = verdict.steady;
    json["achievable"] = verdict.achievable;
    json["share"] = verdict.share;
    json["startup"] = verdict.startup;
    json["end"] = verdict.end;
    json["tail"] = nullptr;
    if (const std::optional<Tail>& tail = verdict.tail) {
        json["tail"] = {{"rank", tail->rank},
                        {"name", tail->name},
                        {"time", tail->time},
                        {"waiting", tail->waiting},
                        {"cost", tail->cost}};
    }
    json["capacity"] = std::move(capacity);
    add_slowed(json, verdict);
    json["replayed"] = verdict.replayed == 0 ? Json(nullptr) : Json(verdict.replayed);
    json["what_if"] = verdict.what_if;
}

}  // namespace sluice
