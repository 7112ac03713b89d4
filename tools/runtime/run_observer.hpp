#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "slurm/run_files.hpp"
#include "slurm/status_text.hpp"
#include "slurm/submission.hpp"

namespace sluice {

/// Observes a run repeatedly: first by its status file, and only rarely by Slurm for what that lacks.
class RunObserver {
public:
    /// `owner`: user of another user's run, for display.
    explicit RunObserver(std::filesystem::path run_folder, std::string owner = {})
        : files_{std::move(run_folder)}, owner_(std::move(owner)) {}

    /// What is known now. May block for as long as Slurm's programs take to answer.
    [[nodiscard]] RunView look();

private:
    static constexpr std::chrono::seconds shortest_pause{1};

    void read_status(RunView& view) const;
    [[nodiscard]] std::filesystem::path log_of(const Submission& submission) const;
    void turn_to(const Submission& submission);
    void ask(const Submission& submission);

    RunFiles files_;
    std::string owner_;
    std::optional<Submission> of_;  // the submission of these answers
    std::optional<Instant> last_;
    std::chrono::seconds pause_ = shortest_pause;
    RunView answer_;  // of Slurm, without the status that the run writes
};

/// Blocks until the submitted run in `run_folder` has ended with no follow-up, through requeues, follow-up jobs and
/// outages of Slurm, and shows its progress on stderr. Returns the run's exit code. SIGINT, SIGTERM and SIGHUP end the
/// waiting and, as usual, this process; the job continues.
[[nodiscard]] int wait_for_run(const std::filesystem::path& run_folder);

}  // namespace sluice
