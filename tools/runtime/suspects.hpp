#pragma once

#include "comm/chunk_server.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// Computes the chunks that several attempts have died over here and now, on the rank's first device, halved
/// until what attempts die over is alone, and tells `server` and job.output the results. Each range is noted before: if
/// it ends this process, the next attempt knows. Throws Error (no_progress, E-RUN-093) when items that end every
/// attempt are more than the job says may be left out.
void compute_suspects(const RankContext& context, PreparedJob& job, const PreparedRank& rank, ChunkServer& server);

}  // namespace sluice
