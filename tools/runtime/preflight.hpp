#pragma once

#include "comm/node_view.hpp"
#include "core/config/config.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// Before a run reads anything: whether all tasks that were started are ranks of it, whether there is a GPU for
/// several ranks that want one, and whether the output can be written. For rank 0. Throws Error; prints a line for a
/// warning.
void check_before_reading(const RankContext& context, const JobConfig& job);

/// Once each rank knows its place: rank 0 prints a line for each warning of `sluice doctor` that can be told without
/// measuring. Collective.
void warn_of_places(const RankContext& context, const NodeView& node, const JobPlan& plan);

}  // namespace sluice
