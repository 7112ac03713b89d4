#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/clock_bounds.hpp"
#include "comm/mpi_links.hpp"
#include "core/commit/committed_output.hpp"
#include "core/error.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/report.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

/// The job's part of a report, without attempts and ranks. `items_done`: by this attempt.
[[nodiscard]] RunReport report_of_run(const PreparedJob& prepared, const CommittedOutput& output,
                                      std::uint64_t items_done);

/// Completes this rank's `trace` at the end of its part of the run.
[[nodiscard]] RankTrace complete_trace(const RankContext& context, RankTrace trace);

/// The run's end, for all ranks.
struct CommonEnd {
    int code = 0;                             ///< Exit code of all ranks.
    std::vector<RankReport> reports{};        ///< Of all ranks; rank 0 only.
    std::vector<LinkSpeed> links{};           ///< From rank 0 to some others, after a long successful run.
    std::vector<std::string> trace_events{};  ///< Of all ranks, if wanted; rank 0 only.
};

/// Facts about the ranks' clocks at the end of a run.
struct ClockFacts {
    ClockOffset first{};                        ///< This rank's, when the ranks met.
    ClockBounds from_root{};                    ///< From rank 0's messages; on other ranks.
    std::span<const ClockBounds> to_root = {};  ///< From each rank's messages; on rank 0 of several ranks.
};

/// Sends rank 0's `code` to every rank and all ranks' reports to rank 0, in rank 0's time after another clock
/// alignment; if `wants_trace`, also their trace events. Collective.
[[nodiscard]] CommonEnd end_together(const RankContext& context, RankTrace trace, GpuUses gpus,
                                     const ClockFacts& clocks, bool wants_trace, ExitCode code = ExitCode::ok);

/// Writes the job's output.trace, which is set, of all ranks' `events`. If it cannot be placed, that is only a warning,
/// W-OUT-190.
void publish_trace(std::vector<std::string> events, const PreparedJob& job, std::uint32_t attempt);

/// State of an attempt when it reports.
struct ReportedEnd {
    std::optional<ExitCode> code{};  ///< nullopt: not ended yet.
    bool is_kept = false;            ///< Its results are kept, and so is its report, in the run's folder.
};

/// Writes job.output.report, in which the last of report.attempts is this one, yet to be described, and unless
/// `options.quiet` prints the latency table. A report that cannot be kept or placed is only a warning, W-OUT-120: the
/// results are elsewhere.
void publish_report(RunReport report, const PreparedJob& prepared, const RunOptions& options, const ReportedEnd& end);

}  // namespace sluice
