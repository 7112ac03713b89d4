#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// What Slurm remembers of a job, as a rule of one that has ended.
struct JobInfo {
    std::string state{};  ///< "FAILED", "TIMEOUT", …
    int exit_code = 0;    ///< Of its script.
    int signal = 0;       ///< That ended the script; 0: none did.

    friend bool operator==(const JobInfo&, const JobInfo&) = default;
};

/// A state and an exit code as sacct and squeue print them: "CANCELLED by 0", "70:0", "70". nullopt: they are none.
[[nodiscard]] std::optional<JobInfo> parse_job_info(std::string_view state, std::string_view code);

/// From Slurm's controller, which forgets a job some minutes after its end. nullopt: it does not know the job, or does
/// not answer.
[[nodiscard]] std::optional<JobInfo> find_controller_info(const Submission& submission);

/// From Slurm's accounting, which many sites do not have. nullopt: there is no sacct, it does not answer within
/// seconds, or does not know the job.
[[nodiscard]] std::optional<JobInfo> find_accounting_info(const Submission& submission);

/// The exit code that the run of the job `job`, which is done, has earned: the script's own, else what the run said of
/// itself. Of a job that Slurm has cancelled or stopped it is 75, because the same command continues; 70 when nobody
/// knows.
[[nodiscard]] int code_of_ended_job(const std::string& job, const std::optional<JobInfo>& record,
                                    const std::optional<RunStatus>& status);

}  // namespace sluice
