#include "scheduler/provenance.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "scheduler/gpu_cost.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

double to_seconds(nanoseconds time) {
    return Seconds(time).count();
}

nanoseconds nanoseconds_of(const Json& seconds) {
    return nanoseconds(std::llround(seconds.get<double>() * 1e9));
}

Json known(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

std::string known_text(const Json& json) {
    return json.is_null() ? std::string() : json.get<std::string>();
}

Json to_json(const ThreadUsage& usage) {
    return {{"name", usage.name},
            {"wall", to_seconds(usage.wall)},
            {"cpu", to_seconds(usage.cpu)},
            {"voluntary_switches", usage.waits},
            {"involuntary_switches", usage.preemptions}};
}

ThreadUsage thread_usage_from(const Json& json) {
    return {.name = json.at("name").get<std::string>(),
            .wall = nanoseconds_of(json.at("wall")),
            .cpu = nanoseconds_of(json.at("cpu")),
            .waits = json.at("voluntary_switches").get<std::uint64_t>(),
            .preemptions = json.at("involuntary_switches").get<std::uint64_t>()};
}

Json to_json(const std::optional<CpuThrottling>& throttling) {
    if (!throttling) {
        return nullptr;
    }
    return {{"periods", throttling->periods},
            {"throttled_periods", throttling->throttled},
            {"throttled", to_seconds(throttling->time)}};
}

std::optional<CpuThrottling> throttling_from(const Json& json) {
    if (json.is_null()) {
        return std::nullopt;
    }
    return CpuThrottling{.periods = json.at("periods").get<std::uint64_t>(),
                         .throttled = json.at("throttled_periods").get<std::uint64_t>(),
                         .time = nanoseconds_of(json.at("throttled"))};
}

Json to_json(const ChunkTimes& times) {
    return {{"stage", to_string(times.stage)}, {"name", times.name},           {"chunks", times.count},
            {"p50", to_seconds(times.p50)},    {"p90", to_seconds(times.p90)}, {"p99", to_seconds(times.p99)},
            {"max", to_seconds(times.longest)}};
}

ChunkTimes chunk_times_from(const Json& json) {
    const auto name = json.at("stage").get<std::string>();
    const auto stage = std::ranges::find(all_stages, name, [](Stage one) { return std::string(to_string(one)); });
    expects(stage != all_stages.end(), "a rank's report names a stage that there is");
    return {.stage = *stage,
            .name = json.at("name").get<std::string>(),
            .count = json.at("chunks").get<std::uint64_t>(),
            .p50 = nanoseconds_of(json.at("p50")),
            .p90 = nanoseconds_of(json.at("p90")),
            .p99 = nanoseconds_of(json.at("p99")),
            .longest = nanoseconds_of(json.at("max"))};
}

/// Bytes per second; null if there were none.
Json rate(std::uint64_t bytes, nanoseconds time) {
    return bytes == 0 || time.count() <= 0 ? Json(nullptr) : Json(static_cast<double>(bytes) / to_seconds(time));
}

}  // namespace

Json to_json(const RankDetails& facts) {
    Json threads = Json::array();
    for (const ThreadUsage& usage : facts.threads) {
        threads.push_back(to_json(usage));
    }
    Json times = Json::array();
    for (const ChunkTimes& of_one : facts.chunk_times) {
        times.push_back(to_json(of_one));
    }
    Json json{{"cpu", known(facts.cpu)},       {"gpus", facts.gpus},
              {"driver", known(facts.driver)}, {"cpu_quota", to_json(facts.throttling)},
              {"threads", std::move(threads)}, {"chunk_times", std::move(times)}};
    add_to_json(json, facts.gpu_uses);
    return json;
}

RankDetails rank_details_from(const Json& json) {
    RankDetails facts{.cpu = known_text(json.at("cpu")),
                      .gpus = json.at("gpus").get<std::vector<std::string>>(),
                      .driver = known_text(json.at("driver")),
                      .throttling = throttling_from(json.at("cpu_quota")),
                      .gpu_uses = gpu_uses_from(json)};
    for (const Json& usage : json.at("threads")) {
        facts.threads.push_back(thread_usage_from(usage));
    }
    for (const Json& times : json.at("chunk_times")) {
        facts.chunk_times.push_back(chunk_times_from(times));
    }
    return facts;
}

Json to_json(const Provenance& provenance) {
    Json identity = Json::object();
    for (const auto& [name, value] : provenance.identity) {
        identity[name] = value;
    }
    Json slurm;
    if (provenance.slurm_job) {
        slurm = {{"job", *provenance.slurm_job}, {"restarts", provenance.slurm_restarts}};
    }
    return {{"version", provenance.version},
            {"commit", provenance.commit},
            {"compiler", provenance.compiler},
            {"build", provenance.build},
            {"date", known(provenance.date)},
            {"mpi", provenance.mpi},
            {"cuda", provenance.cuda},
            {"slurm", std::move(slurm)},
            {"fingerprint", known(provenance.fingerprint)},
            {"identity", std::move(identity)}};
}

Json to_json(const LinkTraffic& link) {
    return {{"rank", link.rank},
            {"bytes_to", link.to_rank},
            {"bytes_from", link.from_rank},
            {"rate_to", rate(link.to_rank, link.sending)},
            {"rate_from", rate(link.from_rank, link.receiving)},
            {"peak", link.peak ? Json(*link.peak) : Json(nullptr)}};
}

}  // namespace sluice
