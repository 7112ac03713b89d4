#include "tools/doctor/facts.hpp"

#include <fmt/format.h>

#include "core/json_types.hpp"

namespace sluice {

// Found by nlohmann::json through argument-dependent lookup.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CopySpeed, pinned_up, pinned_down, pageable_up, pageable_down)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuFacts, id, pci, name, is_near, near, driver, copies)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MpiTransport, library, layer, ways, interfaces)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, node, host, mask, allowed, mask_cpus, mask_cores, allowed_cores,
                                   machine_cpus, job_cpus, quota_cpus, own_cores, has_own_cores, threads, instructions,
                                   why_unbindable, gpus, seen, machine_gpus, why_no_cuda, locked_bytes, memory_bytes,
                                   transport, fabrics, clock_error_seconds, wall_ahead_seconds, sees_output, failure,
                                   failure_code)

std::string SlurmVersion::text() const {
    return fmt::format("{:02}.{:02}", year, month);
}

std::string encode(const RankFacts& facts) {
    return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankFacts decode_rank_facts(const std::string& text) {
    return nlohmann::json::parse(text).get<RankFacts>();
}

}  // namespace sluice
