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

ScriptEnd stop_reason(const std::optional<RunStatus>& status, const AttemptId& attempt, int launcher_code) {
    if (status && status->end && status->job == attempt.job && status->restarts == attempt.restarts) {
        const RunEnd& end = *status->end;
        if (end.code == static_cast<int>(ExitCode::stopped_early) && end.signal == SIGTERM && launcher_code != 0) {
            return {.code = static_cast<int>(ExitCode::internal)};
        }
        return {.code = end.code, .again = end.again};
    }
    const bool own = launcher_code >= first_own_code && launcher_code <= last_own_code;
    return {.code = own ? launcher_code : static_cast<int>(ExitCode::internal)};
}

}  // namespace sluice
