#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"

namespace sluice {

// Where a job may write, checked before a run computes anything.

/// Whether `output` has a manifest, whatever is in it: then a run of it writes nothing.
[[nodiscard]] bool seems_published(const std::filesystem::path& output);

/// Throws Error (cannot_create) when the output could not be written.
void check_output_path(const std::filesystem::path& output);

/// Rejects a report path that could not be written at the end of a run to `output`, the job's output.path, or would do
/// harm. Throws Error: cannot_create (E-OUT-021) if its folder is not writable or no file can be created; refused
/// (E-SEC-024) if it would be inside a run's or an output's folder, of this or another job, take an output's name, or
/// replace a file that is not a report.
void check_report_path(const std::filesystem::path& report, const std::filesystem::path& output);

/// Throws Error (refused, E-SEC-019) if an output of `job` would replace one of `files`, which its input.path names.
void refuse_to_replace_input_files(const JobConfig& job, const std::vector<std::filesystem::path>& files);

/// Writes the report `text`. Repeats these checks just before replacing an earlier report. Throws Error as
/// check_report_path, and io_error.
void place_report(std::string_view text, const std::filesystem::path& report, const std::filesystem::path& output);

}  // namespace sluice
