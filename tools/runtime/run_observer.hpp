#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "slurm/status_text.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// Looks at a run again and again: at its own status first; Slurm is asked for what that does not tell, and seldom.
class RunObserver {
public:
    /// `run_folder`: of the run. `owner`: of a run of another user, to be said.
    explicit RunObserver(std::filesystem::path run_folder, std::string owner = {})
        : folder_(std::move(run_folder)), owner_(std::move(owner)) {}

    /// What is known now. May take as long as Slurm's programs take to answer.
    [[nodiscard]] RunSight look();

private:
    static constexpr std::chrono::seconds shortest_pause{1};

    void read_status(RunSight& sight) const;
    void turn_to(const Submission& submission);
    void ask(const Submission& submission);

    std::filesystem::path folder_;
    std::string owner_;
    std::optional<Submission> of_;  // whose answers these are
    std::optional<std::chrono::steady_clock::time_point> last_;
    std::chrono::seconds pause_ = shortest_pause;
    std::optional<QueuedJob> queued_;
    std::optional<JobInfo> record_;
    std::string trouble_;
    bool asked_ = false;
};

}  // namespace sluice
