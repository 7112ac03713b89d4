#pragma once

#include <filesystem>
#include <string_view>

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Checks what a run's preparation leaves to the run: reads every item once and opens the first device. Throws the
/// Error that the run would.
void check_prepared_job(const PreparedJob& prepared);

/// Throws Error (cannot_create) when the output could not be written.
void check_output_path(const std::filesystem::path& output);

/// Rejects a report path that could not be written at the end of a run to `output`, the job's output.path, or would do
/// harm. Throws Error: cannot_create (E-OUT-021) if its folder is not writable or no file can be created; refused
/// (E-SEC-024) if it would be inside a run's or an output's folder, of this or another job, take an output's name, or
/// replace a file that is not a report.
void check_report_path(const std::filesystem::path& report, const std::filesystem::path& output);

/// Writes the report `text`. Repeats these checks just before replacing an earlier report. Throws Error as
/// check_report_path, and io_error.
void place_report(std::string_view text, const std::filesystem::path& report, const std::filesystem::path& output);

/// Warns on stderr if Slurm may stop an attempt of `job` long before its time limit.
void warn_of_long_notice(const JobConfig& job);

}  // namespace sluice
