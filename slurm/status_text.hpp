#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "slurm/queue.hpp"
#include "slurm/run_status.hpp"

namespace sluice {

/// All that is known about a run.
struct RunView {
    std::string owner{};                 ///< The run's user; empty: the current one.
    std::optional<RunStatus> status{};   ///< As written by its rank 0.
    std::string untold{};                ///< What is known of a run that has begun, where nobody can read its status.
    double age = 0;                      ///< Seconds since the status was written.
    bool gone = false;                   ///< Rank 0's process, on this host, has ended without writing its end.
    std::vector<std::string> missing{};  ///< Files of a complete output that are no longer there.
    std::string job{};                   ///< Slurm job id; empty: unknown.
    bool by_hand = false;                ///< The status is newer than that job's submission, and not of it.
    std::filesystem::path log{};         ///< What the job prints; empty: unknown.
    std::vector<std::string> earlier{};  ///< Jobs that this one continues.
    std::optional<QueuedJob> queued{};   ///< From squeue.
    bool asked = false;                  ///< Whether squeue has answered; else `trouble` is why not.
    std::string trouble{};
    std::optional<JobInfo> record{};  ///< Record of a job that squeue does not know or report.
};

/// Whether the run has ended and nothing follows, as far as known.
[[nodiscard]] bool is_done(const RunView& view);

/// Whether rank 0 has not written for so long that it must have ended or hang.
[[nodiscard]] bool is_stale(const RunView& view);

/// What follows the ended attempt, if another one is worthwhile or queued; empty: nothing. Pure.
[[nodiscard]] std::string what_follows(const RunView& view);

/// Human-readable, a few lines. Pure.
[[nodiscard]] std::string status_text(const RunView& view);

/// The same as JSON.
[[nodiscard]] std::string status_json(const RunView& view);

}  // namespace sluice
