#include "slurm/stop_reason.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string_view>

#include "core/config/slurm_config.hpp"
#include "core/machine/launch.hpp"

namespace sluice {
namespace {

/// A shell's code where there is no such program, and the dynamic linker's where a library is missing.
constexpr int not_found = 127;

/// Whether sluice ends with it by itself.
bool is_own(int code) {
    return code >= static_cast<int>(ExitCode::usage) && code <= static_cast<int>(ExitCode::checkpoint_damaged);
}

/// 0 if not set.
std::uint64_t number_in(const char* name) {
    const std::string text = own_variable(name).value_or("");
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// For an attempt whose end makes another one worthwhile.
ScriptEnd with_what_may_follow(int code, const AttemptId& attempt) {
    const bool may_follow = !attempt.most || attempt.number < *attempt.most;
    return {.code = code, .again = may_follow, .used_up = !may_follow && *attempt.most > 1};
}

}  // namespace

AttemptId this_attempt() {
    AttemptId attempt{.job = own_variable("SLURM_JOB_ID").value_or(""), .restarts = number_in("SLURM_RESTART_COUNT")};
    // One of the two is 0, depending on slurm.resume.mode.
    attempt.number = 1 + attempt.restarts + number_in("SLUICE_ATTEMPT");
    if (const auto mode = own_variable("SLUICE_RESUME"); mode && !mode->empty()) {
        attempt.most = *mode == name_of(ResumeMode::manual) ? 1 : 1 + number_in("SLUICE_MAX");
    }
    return attempt;
}

ScriptEnd stop_reason(const std::optional<RunStatus>& status, const AttemptId& attempt, const LauncherEnd& launcher) {
    const bool of_attempt = status && status->job == attempt.job && status->restarts == attempt.restarts;
    if (of_attempt && status->end) {
        const RunEnd& end = *status->end;
        if (end.code == static_cast<int>(ExitCode::stopped_early) && end.signal == SIGTERM && launcher.code != 0) {
            return {.code = static_cast<int>(ExitCode::internal)};
        }
        return end.again ? with_what_may_follow(end.code, attempt) : ScriptEnd{.code = end.code};
    }
    if (of_attempt && launcher.published) {  // only its report was not ready yet
        return {.code = static_cast<int>(ExitCode::ok)};
    }
    if (is_own(launcher.code)) {
        return {.code = launcher.code};
    }
    if (!of_attempt && launcher.code == not_found) {
        return {.code = static_cast<int>(ExitCode::unavailable)};
    }
    const bool before_first_chunk = !of_attempt || status->state == RunState::preparing;
    const bool by_signal = launcher.code == 128 + SIGUSR1 || launcher.code == 128 + SIGTERM ||
                           launcher.code == 128 + SIGKILL;  // srun's code when it ends the other ranks
    // A rank without a handler yet dies of SIGUSR1, which is sent for no other reason.
    const bool asked = launcher.drained || launcher.code == 128 + SIGUSR1;
    const bool stopped = asked && before_first_chunk && by_signal;
    return {.code = static_cast<int>(stopped ? ExitCode::stopped_early : ExitCode::internal)};
}

int code_of_ended_job(const std::string& job, const std::optional<JobInfo>& record,
                      const std::optional<RunStatus>& status) {
    static constexpr std::array<std::string_view, 4> stopped_by_slurm{"CANCELLED", "TIMEOUT", "PREEMPTED", "DEADLINE"};
    if (record && (is_own(record->exit_code) || record->state == "COMPLETED")) {
        return record->exit_code;
    }
    if (status && status->end && status->job == job) {
        return status->end->code;
    }
    const bool stopped =
        record && std::find(stopped_by_slurm.begin(), stopped_by_slurm.end(), record->state) != stopped_by_slurm.end();
    return static_cast<int>(stopped ? ExitCode::stopped_early : ExitCode::internal);
}

}  // namespace sluice
