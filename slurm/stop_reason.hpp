#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "slurm/queue.hpp"
#include "slurm/run_status.hpp"

namespace sluice {

/// How a batch script ends.
struct ScriptEnd {
    int code = 0;
    bool again = false;    ///< Another attempt is worthwhile and allowed.
    bool used_up = false;  ///< Another attempt is worthwhile, but slurm.resume.max forbids it.

    friend bool operator==(const ScriptEnd&, const ScriptEnd&) = default;
};

/// An attempt, as numbered by Slurm and the batch script.
struct AttemptId {
    std::string job{};           ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;  ///< SLURM_RESTART_COUNT.
    std::uint64_t number = 1;    ///< Number within one submission, over all of its jobs.
    /// Most attempts of the batch script, including the first; nullopt: no such script.
    std::optional<std::uint64_t> most{};
};
[[nodiscard]] AttemptId this_attempt();

/// What a batch script knows about an attempt's end.
struct LauncherEnd {
    int code = 0;            ///< Exit code of srun or mpirun.
    bool drained = false;    ///< The script was asked to stop and has forwarded the request.
    bool published = false;  ///< The output is complete.
};

/// Why `attempt` ended, by its status; but a SIGTERM that the launcher sent because a rank died, which rank 0 cannot
/// know, counts as that death (internal). Without a final status, because the attempt died or never began, it is 0 if
/// the attempt has published the output; the launcher's code counts if it is one of sluice's; else it is 69
/// (unavailable) if the launcher, or a library of the program, is missing, 75 if the attempt was asked to stop before
/// its first chunk (its script was, or an unprepared rank died of SIGUSR1), when its ranks end one another, and
/// otherwise 70 (internal).
[[nodiscard]] ScriptEnd stop_reason(const std::optional<RunStatus>& status, const AttemptId& attempt,
                                    const LauncherEnd& launcher);

/// Exit code of the run of `job`, which has ended: that of the script, else that of the run's status. 75 for a job that
/// Slurm has cancelled or stopped, because the same command continues it; 70 if unknown.
[[nodiscard]] int code_of_ended_job(const std::string& job, const std::optional<JobInfo>& record,
                                    const std::optional<RunStatus>& status);

}  // namespace sluice
