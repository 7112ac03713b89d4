#pragma once

#include <filesystem>
#include <string>

namespace sluice {

/// Blocks until the submitted run in `run_folder` has ended with no follow-up, through requeues, follow-up jobs and
/// outages of Slurm, and shows its progress on stderr. Returns the run's exit code. SIGINT, SIGTERM and SIGHUP end the
/// waiting and, as usual, this process; the job continues.
[[nodiscard]] int wait_for_run(const std::filesystem::path& run_folder);

}  // namespace sluice
