#pragma once

#include <functional>

#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_job.hpp"
#include "tools/runtime/run_monitor.hpp"

namespace sluice {

/// Rank 0, or the only process: prepares and serves the job and writes output and report, or finds the output complete.
/// Returns the exit code; in a single process throws the Error of a job that cannot be prepared.
[[nodiscard]] int run_root(const RankContext& context, RunMonitor& monitor, const std::function<JobFile()>& job_file,
                           const RunOptions& options);

/// Any other rank. Returns the exit code that rank 0 has announced.
[[nodiscard]] int run_worker(const RankContext& context);

}  // namespace sluice
