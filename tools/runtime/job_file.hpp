#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/commit/run_paths.hpp"
#include "core/config/config.hpp"

namespace sluice {

/// Where a job's configuration comes from.
struct JobFile {
    std::filesystem::path path{};
    std::vector<Override> overrides{};
    std::optional<std::string> text{};  ///< Of a file in a run's folder, which was read already.
};

/// `apps`: those that it may name. Throws Error as read_job and parse_job.
[[nodiscard]] JobConfig read_job(const JobFile& file, const Apps& apps);

/// The same, with all its paths absolute, so that it means the same wherever it is run.
[[nodiscard]] JobConfig read_job_absolute(const std::filesystem::path& file, std::span<const Override> overrides,
                                          const Apps& apps);

/// The job that `run`'s first attempt has kept (kept_text), with the output that `run` is, wherever its folder lies by
/// now, and `overrides`. Throws Error: no_input (E-RUN-116) when none was kept; as read_text.
[[nodiscard]] JobFile kept_job(const RunPaths& run, std::vector<Override> overrides, const Apps& apps);

/// The plan of a submitted job. Throws Error as read_text; no_input (E-CFG-001) when there is none.
[[nodiscard]] JobFile planned_job(const std::filesystem::path& plan);

/// What an attempt keeps of its job, `run`'s: a job file for the run's folder. Files that lie below the folder in which
/// the output is named relative to it, so that all of it can be moved together; others absolutely.
[[nodiscard]] std::string kept_text(const JobConfig& job, const RunPaths& run);

}  // namespace sluice
