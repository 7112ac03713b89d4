#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/job_info.hpp"
#include "slurm/queue.hpp"
#include "slurm/run_status.hpp"

namespace sluice {

/// What is known of a run.
struct RunSight {
    std::string owner{};                 ///< The run's user; empty: the one who looks.
    std::optional<RunStatus> status{};   ///< What its rank 0 has written.
    double age = 0;                      ///< Seconds since then.
    std::string job{};                   ///< Slurm's number for it; empty: none is known.
    std::vector<std::string> earlier{};  ///< Jobs that this one follows.
    std::optional<QueuedJob> queued{};   ///< What squeue says.
    bool asked = false;                  ///< squeue has answered; else `trouble` says why not.
    std::string trouble{};
    std::optional<JobInfo> record{};  ///< What sacct says of a job that squeue does not know, or cannot tell of.
};

/// Nothing of the run continues, and nothing follows, as far as can be known.
[[nodiscard]] bool is_done(const RunSight& sight);

/// Its rank 0 has not written for so long that it must have ended or be stuck.
[[nodiscard]] bool is_stale(const RunSight& sight);

/// What follows the attempt that has ended, where another one is worth it or is queued; empty: nothing. Pure.
[[nodiscard]] std::string what_follows(const RunSight& sight);

/// A few lines for people. Pure.
[[nodiscard]] std::string status_text(const RunSight& sight);

/// The same as JSON.
[[nodiscard]] std::string status_json(const RunSight& sight);

}  // namespace sluice
