#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "tools/runtime/job_file.hpp"

namespace sluice {

struct RunOptions {
    bool quiet = false;                  ///< Nothing on stdout: neither the latency table nor where the files are.
    std::filesystem::path run_folder{};  ///< Of a submitted job, which is there already.
    std::optional<std::chrono::seconds> time_left{};  ///< From its start; nullopt: Slurm is asked, if this is its job.
    bool progress = true;                             ///< The bar on a terminal, or lines of a log.
    bool retry = false;                               ///< Earlier attempts' deaths do not count any more.
    bool full_table = false;                          ///< All times of all ranks, in place of a line a stage.
};

/// Runs a job to its end on every rank that was started with this one; without a launcher that is this process alone.
/// Only rank 0 calls `job`, which names one of `apps`. Returns the exit code; throws Error.
[[nodiscard]] int run(const std::function<JobFile()>& job, const Apps& apps, const RunOptions& options);

}  // namespace sluice
