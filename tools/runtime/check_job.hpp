#pragma once

#include <atomic>
#include <cstdint>

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Checks what a run's preparation leaves to the run: reserves memory for the trace of all chunks for a moment, opens
/// the first device or, of a host, looks at its instructions, and reads every item once, or each record if several
/// items are made of it; adds them to `items_read`. Throws the Error that the run would.
void check_prepared_job(const PreparedJob& prepared, std::atomic<std::uint64_t>& items_read);

/// Warns on stderr if Slurm may stop an attempt of `job` long before its time limit.
void warn_of_long_notice(const JobConfig& job);

}  // namespace sluice
