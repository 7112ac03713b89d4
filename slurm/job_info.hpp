#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// Slurm's record of a job, usually of one that has ended.
struct JobInfo {
    std::string state{};  ///< "FAILED", "TIMEOUT", …
    int exit_code = 0;    ///< Exit code of its script.
    int signal = 0;       ///< Signal that ended the script; 0: none.

    friend bool operator==(const JobInfo&, const JobInfo&) = default;
};

/// Parses a state and an exit code as printed by sacct and squeue: "CANCELLED by 0", "70:0", "70". nullopt: invalid.
[[nodiscard]] std::optional<JobInfo> parse_job_info(std::string_view state, std::string_view code);

/// From Slurm's controller, which forgets a job some minutes after its end. nullopt: unknown job, or no answer.
[[nodiscard]] std::optional<JobInfo> find_controller_info(const Submission& submission);

/// From Slurm's accounting, which many sites lack. nullopt: no sacct, no answer within seconds, or unknown job.
[[nodiscard]] std::optional<JobInfo> find_accounting_info(const Submission& submission);

/// Exit code of the run of `job`, which has ended: that of the script, else that of the run's status. 75 for a job that
/// Slurm has cancelled or stopped, because the same command continues it; 70 if unknown.
[[nodiscard]] int code_of_ended_job(const std::string& job, const std::optional<JobInfo>& record,
                                    const std::optional<RunStatus>& status);

}  // namespace sluice
