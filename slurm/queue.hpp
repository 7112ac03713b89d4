#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/submission.hpp"

namespace sluice {

/// What squeue says of a job.
struct QueuedJob {
    std::string state{};   ///< "RUNNING", "PENDING", …
    std::string reason{};  ///< Why it waits, or ended.
    std::string end{};     ///< When its time is over, "2026-11-21T18:00:00"; "N/A" or "NONE" when that is not known.
    std::string nodes{};

    friend bool operator==(const QueuedJob&, const QueuedJob&) = default;

    /// It waits, runs, or is about to do so again.
    [[nodiscard]] bool is_active() const;
};

/// nullopt: Slurm does not know the job, any more or at all. Throws Error (unavailable): E-SLM-074 there is no squeue,
/// E-SLM-113 it does not answer.
[[nodiscard]] std::optional<QueuedJob> find_in_queue(const Submission& submission);

/// The run's folder of the Slurm job `job`, by where its output goes. Empty: Slurm does not know the job, or it is none
/// of sluice's. Throws Error as find_in_queue.
[[nodiscard]] std::filesystem::path folder_of_job(const std::string& job);

/// One line of squeue's; nullopt: it is none.
[[nodiscard]] std::optional<QueuedJob> parse_queue_line(std::string_view line);

}  // namespace sluice
