#pragma once

#include <filesystem>
#include <string_view>

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Checks what a run's preparation leaves to the run: reads every item once and opens the first device. Throws the
/// Error that the run would.
void check_prepared_job(const PreparedJob& prepared);

/// Throws Error (cannot_create) when the parent folder of `path`, the value of `key`, is missing or not writable.
void check_folder_of(const std::filesystem::path& path, std::string_view key);

/// Throws Error (cannot_create) when the output could not be written.
void check_output_path(const std::filesystem::path& output);

/// Warns on stderr if Slurm may stop an attempt of `job` long before its time limit.
void warn_of_long_notice(const JobConfig& job);

}  // namespace sluice
