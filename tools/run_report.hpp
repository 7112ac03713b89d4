#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/trace.hpp"
#include "scheduler/report.hpp"
#include "tools/job_plan.hpp"
#include "tools/rank_context.hpp"
#include "tools/run_job.hpp"

namespace sluice {

/// What a report says of the job, without the ranks. `items_done` by this attempt.
[[nodiscard]] RunReport report_of_run(const PreparedJob& prepared, std::uint64_t items_done);

/// What it says of rank 0, which ends its run here.
[[nodiscard]] RankReport report_of_root(const RankContext& context, RankTrace&& trace);

/// The report of all ranks, which learn that the run ends with `code`. Collective.
[[nodiscard]] RunReport gather_report(RankContext& context, const PreparedJob& prepared, std::uint64_t items_done,
                                      RankTrace trace, ExitCode code);

/// Writes job.output.report, and unless `options.quiet` prints the latency table. Throws Error as OutputFile.
void publish_report(const RunReport& report, const JobConfig& job, const RunOptions& options);

}  // namespace sluice
