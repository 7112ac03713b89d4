#pragma once

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Checks what a run's preparation leaves to the run: opens the first device or, of a host, looks at its instructions,
/// and reads every item once. Throws the Error that the run would.
void check_prepared_job(const PreparedJob& prepared);

/// Warns on stderr if Slurm may stop an attempt of `job` long before its time limit.
void warn_of_long_notice(const JobConfig& job);

}  // namespace sluice
