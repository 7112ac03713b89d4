#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/clock_bounds.hpp"
#include "comm/mpi_links.hpp"
#include "core/error.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/report.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

/// What a report says of the job, without the ranks. `items_done` by this attempt.
[[nodiscard]] RunReport report_of_run(const PreparedJob& prepared, std::uint64_t items_done);

/// `trace` is this rank's, which ends its part of the run here.
[[nodiscard]] RankTrace sign(const RankContext& context, RankTrace trace);

/// How a run has ended, for every rank.
struct CommonEnd {
    int code = 0;                       ///< That all ranks end with.
    std::vector<RankReport> reports{};  ///< Of all ranks; only rank 0 has them.
    std::vector<LinkSpeed> links{};     ///< Of rank 0 with some others, after a good end of a long run.
};

/// What is known of the ranks' clocks at the end of a run.
struct ClockFacts {
    ClockOffset first{};                        ///< This rank's, when the ranks met.
    ClockBounds from_root{};                    ///< By rank 0's messages; on the other ranks.
    std::span<const ClockBounds> to_root = {};  ///< By those of each rank; on rank 0, with several ranks.
};

/// Every rank hears rank 0's `code`, and rank 0 what each has recorded, in its own time: the clocks are aligned again.
/// Collective.
[[nodiscard]] CommonEnd end_together(const RankContext& context, RankTrace trace, GpuUses gpus,
                                     const ClockFacts& clocks, ExitCode code = ExitCode::ok);

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
