#pragma once

#include <cstdint>
#include <vector>

#include "comm/chunk_server.hpp"
#include "core/chunk.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/function_ref.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// Halves the ranges that are known to be deadly, and calls `compute` for those that are not, in order. Returns the
/// items that are deadly by themselves. A chunk of several items is taken as deadly.
[[nodiscard]] std::vector<std::uint64_t> compute_in_halves(const Chunk& chunk,
                                                           FunctionRef<bool(const ItemRange&)> is_deadly,
                                                           FunctionRef<void(const ItemRange&)> compute);

/// Computes the chunks that several attempts have died over here and now, on the rank's first device, halved
/// until what attempts die over is alone, and tells `server` and job.output the results. Each range is noted before: if
/// it ends this process, the next attempt knows. Throws Error (no_progress, E-RUN-093) when items that end every
/// attempt are more than the job says may be left out.
void compute_suspects(const RankContext& context, PreparedJob& job, const PreparedRank& rank, ChunkServer& server);

}  // namespace sluice
