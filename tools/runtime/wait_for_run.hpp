#pragma once

#include <filesystem>
#include <string>

namespace sluice {

/// Waits until nothing of the submitted run in `run_folder` continues or follows, through requeues, follow-up jobs and
/// times in which Slurm does not answer, and shows on stderr how far it is. Returns the run's exit code. SIGINT,
/// SIGTERM and SIGHUP end the waiting and, as usual, this process; the job continues.
[[nodiscard]] int wait_for_run(const std::filesystem::path& run_folder);

}  // namespace sluice
