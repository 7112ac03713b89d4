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
};

/// nullopt: Slurm does not, or no longer, know the job. Throws Error (unavailable): E-SLM-074 no squeue, E-SLM-113 no
/// answer.
[[nodiscard]] std::optional<QueuedJob> find_in_queue(const Submission& submission);

/// Run folder of Slurm job `job`, from the path of its output. Empty: unknown job, or not one of sluice's. Throws Error
/// as find_in_queue().
[[nodiscard]] std::filesystem::path folder_of_job(const std::string& job);

/// Parses a line of squeue; nullopt: invalid.
[[nodiscard]] std::optional<QueuedJob> parse_queue_line(std::string_view line);

}  // namespace sluice
