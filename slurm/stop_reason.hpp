#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "slurm/run_status.hpp"

namespace sluice {

/// What a batch script ends with.
struct ScriptEnd {
    int code = 0;
    bool again = false;    ///< Another attempt is worth it, and may follow.
    bool used_up = false;  ///< It is worth it, but slurm.resume.max allows none.

    friend bool operator==(const ScriptEnd&, const ScriptEnd&) = default;
};

/// An attempt, as Slurm and the batch script number it.
struct AttemptId {
    std::string job{};           ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;  ///< SLURM_RESTART_COUNT.
    std::uint64_t number = 1;    ///< Among the attempts of one submission, whether of one job or of several.
    std::optional<std::uint64_t>
        most{};  ///< That the batch script starts, the first included; nullopt: no such script.
};
[[nodiscard]] AttemptId this_attempt();

/// What a batch script knows of an attempt's end.
struct LauncherEnd {
    int code = 0;          ///< That srun or mpirun has returned.
    bool drained = false;  ///< The script has been asked to stop, and has passed it on.
};

/// Why `attempt` has ended: as its status says; but a SIGTERM that the launcher has sent because some rank died, which
/// rank 0 cannot know, is that rank's death (internal). Where it could not say so, because it died or never began, the
/// code that the launcher gave counts if it is one of sluice's; else it is 75 of an attempt that was asked to stop
/// before its first chunk (its script was, or a rank that was not ready for it has died of SIGUSR1), whose ranks end
/// one another then, and 70 (internal) of all others.
[[nodiscard]] ScriptEnd stop_reason(const std::optional<RunStatus>& status, const AttemptId& attempt,
                                    const LauncherEnd& launcher);

}  // namespace sluice
