#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// What Slurm remembers of a job, as a rule of one that has ended.
struct JobRecord {
    std::string state{};  ///< "FAILED", "TIMEOUT", …
    int exit_code = 0;    ///< Of its script.
    int signal = 0;       ///< That ended the script; 0: none did.

    friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// A state and an exit code as sacct and squeue print them: "CANCELLED by 0", "70:0", "70". nullopt: they are none.
[[nodiscard]] std::optional<JobRecord> parse_job_record(std::string_view state, std::string_view code);

/// From Slurm's controller, which forgets a job some minutes after its end. nullopt: it does not know the job, or does
/// not answer.
[[nodiscard]] std::optional<JobRecord> find_controller_record(const Submission& submission);

/// From Slurm's accounting, which many sites do not have. nullopt: there is no sacct, it does not answer within
/// seconds, or does not know the job.
[[nodiscard]] std::optional<JobRecord> find_accounting_record(const Submission& submission);

/// The exit code that the run of the job `job`, which is over, has earned: the script's own, else what the run said of
/// itself. Of a job that Slurm has cancelled or stopped it is 75, because the same command goes on; 70 when nobody
/// knows.
[[nodiscard]] int code_of_ended_job(const std::string& job, const std::optional<JobRecord>& record,
                                    const std::optional<RunStatus>& status);

}  // namespace sluice
