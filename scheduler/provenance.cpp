#include "scheduler/provenance.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/json_types.hpp"
#include "scheduler/gpu_cost.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

double to_seconds(nanoseconds time) {
    return Seconds(time).count();
}

Json to_json(const ThreadUsage& usage) {
    return {{"name", usage.name},
            {"wall", to_seconds(usage.wall)},
            {"cpu", to_seconds(usage.cpu)},
            {"voluntary_switches", usage.waits},
            {"involuntary_switches", usage.preemptions}};
}

Json to_json(const std::optional<CpuThrottling>& throttling) {
    if (!throttling) {
        return nullptr;
    }
    return {{"periods", throttling->periods},
            {"throttled_periods", throttling->throttled},
            {"throttled", to_seconds(throttling->time)}};
}

Json to_json(const ChunkTimes& times) {
    return {{"stage", to_string(times.stage)}, {"name", times.name},           {"chunks", times.count},
            {"p50", to_seconds(times.p50)},    {"p90", to_seconds(times.p90)}, {"p99", to_seconds(times.p99)},
            {"max", to_seconds(times.longest)}};
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
    Json json{{"cpu", or_null(facts.cpu)},       {"gpus", facts.gpus},
              {"driver", or_null(facts.driver)}, {"cpu_quota", to_json(facts.throttling)},
              {"threads", std::move(threads)},   {"chunk_times", std::move(times)}};
    add_to_json(json, facts.gpu_uses);
    return json;
}

void to_json(Json& to, const Provenance& provenance) {
    Json identity = Json::object();
    for (const auto& [name, value] : provenance.identity) {
        identity[name] = value;
    }
    Json slurm;
    if (provenance.slurm_job) {
        slurm = {{"job", *provenance.slurm_job}, {"restarts", provenance.slurm_restarts}};
    }
    to = {{"version", provenance.version},
          {"commit", provenance.commit},
          {"compiler", provenance.compiler},
          {"build", provenance.build},
          {"date", or_null(provenance.date)},
          {"mpi", provenance.mpi},
          {"cuda", provenance.cuda},
          {"slurm", std::move(slurm)},
          {"fingerprint", or_null(provenance.fingerprint)},
          {"identity", std::move(identity)}};
}

void to_json(Json& to, const LinkTraffic& link) {
    to = {{"rank", link.rank},
          {"bytes_to", link.to_rank},
          {"bytes_from", link.from_rank},
          {"rate_to", rate(link.to_rank, link.sending)},
          {"rate_from", rate(link.from_rank, link.receiving)},
          {"peak", link.peak}};
}

}  // namespace sluice
