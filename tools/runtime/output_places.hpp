#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"

namespace sluice {

// Where a job may write, checked before a run computes anything.

/// Whether `output` has a manifest, whatever is in it: then a run of it writes nothing.
[[nodiscard]] bool seems_published(const std::filesystem::path& output);

/// Throws Error (cannot_create) when the output could not be written.
void check_output_path(const std::filesystem::path& output);

/// Rejects paths of a report and a trace that could not be written at the end of a run, or would do harm. Throws Error:
/// cannot_create (E-OUT-021) if the folder is not writable or no file can be created; refused (E-SEC-024) if one would
/// be inside a run's or an output's folder, of this or another job, take an output's name, or replace a file that is
/// not a report, or a trace.
void check_report_paths(const JobConfig::Output& output);

/// Throws Error (refused, E-SEC-019) if an output of `job` would replace one of `files`, which its input.path names.
void refuse_to_replace_input_files(const JobConfig& job, const std::vector<std::filesystem::path>& files);

/// Writes `text` to output.report. Repeats these checks just before replacing an earlier report. Throws Error as
/// check_report_paths, and io_error.
void place_report(std::string_view text, const JobConfig::Output& output);

/// The same for output.trace, which is set, of the parts of a text.
void place_trace(std::span<const std::string> parts, const JobConfig::Output& output);

}  // namespace sluice
