#pragma once

#include <filesystem>
#include <optional>
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
    std::optional<std::string> text{};  ///< Of a file in a run's folder, if already read.
};

/// `apps`: the known apps. Throws Error as read_job and parse_job.
[[nodiscard]] JobConfig read_job(const JobFile& file, const Apps& apps);

/// The same with absolute paths, so that it can be run from any folder.
[[nodiscard]] JobConfig read_job_absolute(JobFile file, const Apps& apps);

/// The job stored by `run`'s first attempt (kept_text), with `overrides` and with `run` as its output, even if its
/// folder was moved. Relative paths in `overrides` start from the folder that holds the output. Throws Error: no_input
/// (E-RUN-116) if none was stored; configuration (E-CFG-105) if an override names another output; as read_text and
/// read_job.
[[nodiscard]] JobFile kept_job(const RunPaths& run, std::vector<Override> overrides, const Apps& apps);

/// The plan of a submitted job. Throws Error as read_text; no_input (E-CFG-001) if there is none.
[[nodiscard]] JobFile planned_job(const std::filesystem::path& plan);

/// The job file that an attempt of `run` stores in the run's folder. Paths below the output's folder are relative to
/// it, so that all can be moved together; others are absolute.
[[nodiscard]] std::string kept_text(const JobConfig& job, const RunPaths& run);

}  // namespace sluice
