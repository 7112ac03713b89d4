#pragma once

#include <filesystem>
#include <string_view>

namespace sluice {

/// Refuses a report that could not be written at the end of a run of `output`, the job's output.path, or that would do
/// harm there. Throws Error: cannot_create (E-OUT-021) where its folder cannot be written to or no file can be; refused
/// (E-SEC-024) where it would lie inside a run's folder or an output's, this job's or another's, take an output's name,
/// or replace a file that is no report.
void check_report_path(const std::filesystem::path& report, const std::filesystem::path& output);

/// Writes the report `text`. All of the above is looked at again just before an earlier report is replaced. Throws
/// Error as check_report_path, and io_error.
void place_report(std::string_view text, const std::filesystem::path& report, const std::filesystem::path& output);

}  // namespace sluice
