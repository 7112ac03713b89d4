#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/submission.hpp"

namespace sluice {

/// A job as reported by squeue.
struct QueuedJob {
    std::string state{};   ///< "RUNNING", "PENDING", …
    std::string reason{};  ///< Why it is pending, or ended.
    std::string end{};     ///< End of its time limit, "2026-11-21T18:00:00"; "N/A" or "NONE" if unknown.
    std::string nodes{};

    friend bool operator==(const QueuedJob&, const QueuedJob&) = default;

    /// Whether it is pending, running, or about to be again.
    [[nodiscard]] bool is_active() const;

    /// "RUNNING", "PENDING (JobHeldUser)".
    [[nodiscard]] std::string text() const;
};

/// nullopt: Slurm does not, or no longer, know the job. Throws Error (unavailable): E-SLM-074 no squeue, E-SLM-113 no
/// answer.
[[nodiscard]] std::optional<QueuedJob> find_in_queue(const Submission& submission);

/// Slurm's record of a job, usually of one that has ended.
struct JobInfo {
    std::string state{};  ///< "FAILED", "TIMEOUT", …
    int exit_code = 0;    ///< Exit code of its script.
    int signal = 0;       ///< Signal that ended the script; 0: none.

    friend bool operator==(const JobInfo&, const JobInfo&) = default;
};

/// From Slurm's controller, which forgets a job some minutes after its end. nullopt: unknown job, or no answer.
[[nodiscard]] std::optional<JobInfo> find_controller_info(const Submission& submission);

/// From Slurm's accounting, which many sites lack. nullopt: no sacct, no answer within seconds, or unknown job.
[[nodiscard]] std::optional<JobInfo> find_accounting_info(const Submission& submission);

/// What the job prints, by what Slurm says. Empty: unknown job, or no answer.
[[nodiscard]] std::string find_log(const Submission& submission);

/// Run folder of Slurm job `job`, from the path of its script, else of its output; it may not be readable. Empty:
/// unknown job, or not one of sluice's. Throws Error as find_in_queue().
[[nodiscard]] std::filesystem::path folder_of_job(const std::string& job);

/// Parses a line of squeue; nullopt: invalid.
[[nodiscard]] std::optional<QueuedJob> parse_queue_line(std::string_view line);

/// Parses a state and an exit code as printed by sacct and squeue: "CANCELLED by 0", "70:0", "70". nullopt: invalid.
[[nodiscard]] std::optional<JobInfo> parse_job_info(std::string_view state, std::string_view code);

}  // namespace sluice
