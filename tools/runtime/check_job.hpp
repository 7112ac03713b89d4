#pragma once

#include <filesystem>
#include <string_view>

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// What the preparation of a run leaves to the run itself: every item is read once, and the first device is opened.
/// Throws the Error that the run would.
void check_prepared_job(const PreparedJob& prepared);

/// Refuses a file or folder at `path`, named by `key`, whose folder is missing or cannot be written to. Throws Error
/// (cannot_create).
void check_folder_of(const std::filesystem::path& path, std::string_view key);

/// Refuses an output that could not be written. Throws Error (cannot_create).
void check_output_path(const std::filesystem::path& output);

/// Warns, on stderr, where Slurm may stop an attempt of `job` long before its time is over.
void warn_of_long_notice(const JobConfig& job);

}  // namespace sluice
