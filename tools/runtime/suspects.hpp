#pragma once

#include <cstdint>
#include <vector>

#include "comm/chunk_server.hpp"
#include "core/chunk.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/function_ref.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// Halves ranges known to be deadly and calls `compute` for the others, in order. Returns the items that are deadly on
/// their own. A chunk of several items is assumed to be deadly.
[[nodiscard]] std::vector<std::uint64_t> compute_in_halves(const Chunk& chunk,
                                                           FunctionRef<bool(const ItemRange&)> is_deadly,
                                                           FunctionRef<void(const ItemRange&)> compute);

/// Computes the chunks that several attempts have died on, on the rank's first device, halving them until deadly items
/// are isolated, and passes the results to `server` and attempt.output. Each range is recorded first: if it ends this
/// process, the next attempt knows. Throws Error (no_progress, E-RUN-093) when more items are deadly than the job may
/// leave out.
void compute_suspects(const RankContext& context, const PreparedJob& job, const OpenAttempt& attempt,
                      const PreparedRank& rank, ChunkServer& server);

}  // namespace sluice
