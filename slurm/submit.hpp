#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.hpp"
#include "slurm/batch_script.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// Throws Error (usage, E-USE-098) for one that is not to reach sbatch: those that sluice sets itself, and what is no
/// long option.
void check_user_options(const std::vector<std::string>& options);

/// What the submitted job thinks of earlier attempts that died.
enum class EarlierDeaths : std::uint8_t {
    count,
    forget,  ///< For once: its first attempt does not know of them, later ones know of those from then on.
};

/// Makes the run's folder, as far as it is not there, with plan, script and a folder for logs in it. Throws Error:
/// cannot_create where something else lies, refused where the folder is another user's, in_use (E-OUT-079) when a job
/// that was submitted for it waits or runs.
void write_run_files(const JobConfig& job, const ScriptPaths& paths, EarlierDeaths deaths);

/// Hands the script to sbatch and notes the job's id. `more` are the user's options, which win over the script's.
/// Throws Error (unavailable): E-SLM-074 there is no sbatch, E-SLM-075 it refuses.
[[nodiscard]] Submission submit(const ScriptPaths& paths, const std::vector<std::string>& more);

/// Asks sbatch whether `job` could run, and when: what it says. Nothing is left behind. Throws Error as submit.
[[nodiscard]] std::string test_submission(const JobConfig& job, const ScriptPaths& paths,
                                          const std::vector<std::string>& more);

}  // namespace sluice
