#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.hpp"
#include "slurm/batch_script.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// Throws Error (usage, E-USE-098) for options that must not reach sbatch: those set by sluice, and anything but long
/// options.
void check_user_options(const std::vector<std::string>& options);

/// How the submitted job treats earlier attempts that died.
enum class EarlierDeaths : std::uint8_t {
    count,
    forget,  ///< Once: its first attempt ignores them, later ones count deaths from then on.
};

/// Creates the run's folder, if missing, with plan, script and a folder for logs, passes the script to sbatch and
/// records the job id. `more`: the user's options, which override the script's. Throws Error: cannot_create if
/// something else is in the way, refused if the folder is another user's, in_use (E-OUT-079) if a job submitted for it
/// is pending or running, or is being submitted, unavailable: E-SLM-074 no sbatch, E-SLM-075 it refuses.
[[nodiscard]] Submission submit(const JobConfig& job, const ScriptPaths& paths, EarlierDeaths deaths,
                                const std::vector<std::string>& more);

/// Returns sbatch's answer on whether and when `job` could run. Leaves nothing behind. Throws Error as submit().
[[nodiscard]] std::string test_submission(const JobConfig& job, const ScriptPaths& paths,
                                          const std::vector<std::string>& more);

}  // namespace sluice
