#include "tools/runtime/run_observer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds longest_pause{30};  // all users share one controller
constexpr double fresh = 3;                        // seconds: the run writes every second

}  // namespace

RunSight RunObserver::look() {
    for (;;) {
        RunSight sight{.owner = owner_};
        read_status(sight);
        const std::optional<Submission> submission = read_submission(folder_ / "submitted.json");
        if (!submission) {
            return sight;
        }
        turn_to(*submission);
        sight.job = submission->job;
        sight.earlier = submission->earlier;
        if (sight.status && !sight.status->end && sight.age < fresh) {
            last_.reset();
            pause_ = shortest_pause;
            return sight;
        }
        ask(*submission);
        sight.asked = asked_;
        sight.trouble = trouble_;
        sight.queued = queued_;
        sight.record = record_;
        read_status(sight);  // it may have ended meanwhile
        if (!is_done(sight) || read_submission(folder_ / "submitted.json") == submission) {
            return sight;
        }
    }
}

void RunObserver::read_status(RunSight& sight) const {
    sight.status = read_run_status(folder_ / "status.json");
    if (sight.status) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        sight.age = std::chrono::duration<double>(now).count() - sight.status->updated;
    }
}

void RunObserver::turn_to(const Submission& submission) {
    if (of_ != submission) {
        of_ = submission;
        last_.reset();
        pause_ = shortest_pause;
        queued_.reset();
        record_.reset();
        asked_ = false;
    }
}

void RunObserver::ask(const Submission& submission) {
    const auto now = std::chrono::steady_clock::now();
    if (last_ && now - *last_ < pause_) {
        return;
    }
    pause_ = last_ ? std::min(2 * pause_, longest_pause) : shortest_pause;
    last_ = now;
    queued_.reset();
    try {
        queued_ = find_in_queue(submission);
        asked_ = true;
        trouble_.clear();
    } catch (const Error& error) {  // reported in the status: the run's own file counts, Slurm may be elsewhere
        asked_ = false;
        trouble_ = fmt::format("{}: {}", error.text().where, error.text().what);
    }
    record_ = queued_ ? std::nullopt : find_accounting_info(submission);
}

}  // namespace sluice
