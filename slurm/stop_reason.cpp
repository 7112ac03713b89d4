#include "slurm/stop_reason.hpp"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace sluice {
namespace {

constexpr int first_own_code = static_cast<int>(ExitCode::usage);
constexpr int last_own_code = static_cast<int>(ExitCode::checkpoint_damaged);

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

}  // namespace

AttemptId this_attempt() {
    AttemptId attempt{.job = variable("SLURM_JOB_ID")};
    const std::string restarts = variable("SLURM_RESTART_COUNT");
    std::from_chars(restarts.data(), restarts.data() + restarts.size(), attempt.restarts);  // not set: 0
    return attempt;
}

ScriptEnd stop_reason(const std::optional<RunStatus>& status, const AttemptId& attempt, const LauncherEnd& launcher) {
    const bool of_attempt = status && status->job == attempt.job && status->restarts == attempt.restarts;
    if (of_attempt && status->end) {
        const RunEnd& end = *status->end;
        if (end.code == static_cast<int>(ExitCode::stopped_early) && end.signal == SIGTERM && launcher.code != 0) {
            return {.code = static_cast<int>(ExitCode::internal)};
        }
        return {.code = end.code, .again = end.again};
    }
    if (launcher.code >= first_own_code && launcher.code <= last_own_code) {
        return {.code = launcher.code};
    }
    const bool before_first_chunk = !of_attempt || status->state == RunState::preparing;
    const bool by_signal = launcher.code == 128 + SIGUSR1 || launcher.code == 128 + SIGTERM ||
                           launcher.code == 128 + SIGKILL;  // srun's ends of the ranks beside the first one
    // A rank that is not ready to hear it dies of SIGUSR1, which nobody sends for another reason.
    const bool asked = launcher.drained || launcher.code == 128 + SIGUSR1;
    const bool stopped = asked && before_first_chunk && by_signal;
    return {.code = static_cast<int>(stopped ? ExitCode::stopped_early : ExitCode::internal)};
}

}  // namespace sluice
