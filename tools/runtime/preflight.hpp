#pragma once

#include "comm/node_view.hpp"
#include "core/config/config.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// Checks before a run reads anything: whether all started tasks are its ranks, whether there is a GPU for several
/// ranks that want one, and whether the output can be written. Rank 0 only. Throws Error; prints a line per warning.
void check_before_reading(const RankContext& context, const JobConfig& job);

/// Once each rank knows its place: rank 0 prints a line for each warning of `sluice doctor` that needs no measurement.
/// Collective.
void warn_of_places(const RankContext& context, const NodeView& node, const JobPlan& plan);

}  // namespace sluice
