#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tools/runtime/job_file.hpp"

namespace sluice {

struct RunOptions {
    bool quiet = false;                  ///< Nothing on stdout: neither the latency table nor the files' paths.
    std::filesystem::path run_folder{};  ///< Of a submitted job; exists already.
    /// As of this process's start; nullopt: ask Slurm, if this is its job.
    std::optional<std::chrono::seconds> time_left{};
    bool progress = true;  ///< A bar on a terminal, or log lines.
    std::string named{};   ///< What this rank was started for: a file, then all --set in lines; empty: it cannot tell.
    bool retry = false;    ///< Ignore the deaths of earlier attempts.
    bool full_table = false;  ///< All times of all ranks instead of a line per stage.
};

/// Runs a job on all ranks started with this one; without a launcher, on this process alone. Only rank 0 calls `job`,
/// which names one of `apps`. Returns the exit code; throws Error. Leaves the signals that stop a run blocked. Under a
/// launcher once in a process, since MPI does not start again. main() (tools/cli/main.hpp) also opens standard streams
/// that are closed, and ignores SIGPIPE and SIGXFSZ: here the caller does, if it wants errors in place of these
/// signals.
[[nodiscard]] int run(const std::function<JobFile()>& job, const Apps& apps, const RunOptions& options);

}  // namespace sluice
