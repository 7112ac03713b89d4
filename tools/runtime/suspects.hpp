#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/chunk_server.hpp"
#include "core/app.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

struct SuspectsOptions {
    const LoadedApp* app = nullptr;
    std::uint32_t device = 0;             ///< Its number.
    std::span<const std::byte> sample{};  ///< For Model::calibrate().
};

/// Computes the chunks that several attempts have died over here and now, on a device with nothing else to do, halved
/// until what attempts die over is alone, and tells `server` and job.output the results. Each range is noted before: if
/// it ends this process, the next attempt knows. Throws Error (no_progress, E-RUN-093) when items that end every
/// attempt are more than the job says may be left out.
void compute_suspects(RankContext& context, PreparedJob& job, ChunkServer& server, const SuspectsOptions& options);

}  // namespace sluice
