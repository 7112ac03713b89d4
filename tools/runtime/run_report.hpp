#pragma once

#include <cstdint>
#include <optional>

#include "core/error.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/report.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

/// What a report says of the job, without the ranks. `items_done` by this attempt.
[[nodiscard]] RunReport report_of_run(const PreparedJob& prepared, std::uint64_t items_done);

/// What it says of rank 0, which ends its run here.
[[nodiscard]] RankReport report_of_root(const RankContext& context, RankTrace&& trace);

/// The report of all ranks, which learn that the run ends with `code`. Collective.
[[nodiscard]] RunReport gather_report(RankContext& context, const PreparedJob& prepared, std::uint64_t items_done,
                                      RankTrace trace, ExitCode code);

/// How far an attempt has come when it reports.
struct ReportedEnd {
    std::optional<ExitCode> code{};  ///< nullopt: it has not ended yet.
    bool is_kept = false;            ///< Something of it stays, so that its report does too, in the run's folder.
};

/// Writes job.output.report, with what all attempts have cost, and unless `options.quiet` prints the latency table.
/// A report that cannot be placed is a warning, W-OUT-120: what the run is worth lies elsewhere. Throws Error as
/// keep_report.
void publish_report(RunReport report, const PreparedJob& prepared, const RunOptions& options, const ReportedEnd& end);

}  // namespace sluice
