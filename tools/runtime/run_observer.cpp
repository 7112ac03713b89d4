#include "tools/runtime/run_observer.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <system_error>

#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/text/program_name.hpp"
#include "slurm/stop_reason.hpp"
#include "tools/runtime/progress.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds longest_pause{30};  // all users share one controller
constexpr double fresh = 3;                        // seconds: the run writes every second
constexpr std::chrono::seconds look_every{1};

/// Blocks SIGINT, SIGTERM and SIGHUP while it lives.
class EndSignals {
public:
    EndSignals() {
        ::sigemptyset(&set_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction action {};
            if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {  // as under nohup
                ::sigaddset(&set_, signal);
            }
        }
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;

    /// The pending signal, or one that arrives within `at_most`; 0: none.
    [[nodiscard]] int wait(std::chrono::seconds at_most) const {
        const std::timespec time{.tv_sec = at_most.count(), .tv_nsec = 0};
        const int signal = ::sigtimedwait(&set_, nullptr, &time);
        return signal < 0 ? 0 : signal;
    }

private:
    sigset_t set_{};
    sigset_t before_{};
};

std::string queue_text(const RunView& view) {
    if (!view.trouble.empty()) {
        return fmt::format("job {}: Slurm does not answer ({})", view.job, escaped(view.trouble));
    }
    return view.queued ? fmt::format("job {} {}", view.job, view.queued->text()) : fmt::format("job {}", view.job);
}

/// An earlier job that was killed has left a status as of one that runs.
bool is_of_job(const RunView& view) {
    return view.status && view.status->job == view.job;
}

/// The state in a few words, constant while nothing happens.
std::string state_text(const RunView& view) {
    const bool tells_itself = is_of_job(view) && !view.status->end && !is_stale(view);
    return tells_itself ? fmt::format("job {} {}", view.job, name_of(view.status->state)) : queue_text(view);
}

/// State plus progress, if it runs.
std::string line_of(const RunView& view, const ProgressView& progress) {
    std::string line = state_text(view);
    if (!view.status || view.status->items == 0) {
        return line;
    }
    const RunStatus& status = *view.status;
    const ItemCount items{.done = status.items_done,
                          .total = status.items,
                          .before = is_of_job(view) ? status.items_before : status.items_done,
                          .is_estimated = status.items_estimated};
    const bool moves = is_of_job(view) && !status.end && status.mean_items_per_second > 0;
    const Seconds since(moves ? static_cast<double>(items.done - items.before) / status.mean_items_per_second : 0.0);
    line += ", ";
    const auto used = static_cast<std::uint32_t>(line.size());
    line += progress.is_terminal() && used < ProgressView::columns()
                ? progress_bar(items, since, ProgressView::columns() - used)
                : progress_text(items, since);
    return line;
}

std::string end_text(const RunView& view, int code) {
    std::string text = fmt::format("job {} has ended, exit code {}", view.job, code);
    if (view.queued) {
        text += fmt::format(" ({})", escaped(view.queued->state));
    }
    const bool of_job = is_of_job(view) && view.status->end;
    if (of_job && view.status->end->again && !is_followed(*view.status)) {
        text += "; " + what_follows(view);
    }
    if (of_job && !view.status->end->text.id.empty()) {
        text += '\n';
        text += render(view.status->end->text);
    } else if (!view.log.empty() && code != 0 &&
               code != static_cast<int>(ExitCode::stopped_early)) {  // cancelled: it may have none
        text += fmt::format("\n  hint: its log may tell why: {}", escaped(view.log.native()));
    }
    return text;
}

bool is_of(const Submission& submission, const RunStatus& status) {
    return status.job == submission.job ||
           std::ranges::find(submission.earlier, status.job) != submission.earlier.end();
}

/// By the times that the file system has given them.
bool is_newer(const std::filesystem::path& file, const std::filesystem::path& than) {
    std::error_code gone;
    const auto time = std::filesystem::last_write_time(file, gone);
    return !gone && time > std::filesystem::last_write_time(than, gone) && !gone;
}

[[noreturn]] void refuse_to_wait(const std::filesystem::path& run_folder) {
    throw Error(ExitCode::io_error, {.id = "E-OUT-119",
                                     .where = escaped(run_folder.native()),
                                     .what = "the run's folder was removed, and with it which job to wait for",
                                     .hint = "squeue shows the job, scancel ends it"});
}

int code_of(const RunView& view, const RunFiles& files) {
    std::optional<JobInfo> record = view.record;
    if (const auto submission = read_submission(files.submission()); !record && submission) {
        record = find_controller_info(*submission);
    }
    return code_of_ended_job(view.job, record, view.status);
}

}  // namespace

RunView RunObserver::look() {
    for (;;) {
        RunView view{.owner = owner_};
        read_status(view);
        const std::optional<Submission> submission = read_submission(files_.submission());
        if (!submission) {
            return view;
        }
        turn_to(*submission);
        if (view.status && !view.status->end && view.age < fresh) {
            last_.reset();
            pause_ = shortest_pause;
            view.job = submission->job;
            view.log = log_of(*submission);
            view.earlier = submission->earlier;
            return view;
        }
        ask(*submission);
        view = answer_;
        read_status(view);  // it may have ended meanwhile
        if (!is_done(view) || read_submission(files_.submission()) == submission) {
            return view;
        }
    }
}

void RunObserver::read_status(RunView& view) const {
    view.status = read_run_status(files_.status());
    view.by_hand = false;
    if (view.status) {
        const std::optional<Submission> submission = read_submission(files_.submission());  // after the status
        view.by_hand =
            submission && !is_of(*submission, *view.status) && is_newer(files_.status(), files_.submission());
        // The run's host may have a clock that is ahead.
        view.age = std::max(0.0, unix_seconds() - view.status->updated);
    }
}

std::filesystem::path RunObserver::log_of(const Submission& submission) const {
    return submission.log ? std::filesystem::path(*submission.log) : files_.log(submission.job);
}

void RunObserver::turn_to(const Submission& submission) {
    if (of_ != submission) {
        of_ = submission;
        last_.reset();
        pause_ = shortest_pause;
        answer_ = {.owner = owner_, .job = submission.job, .log = log_of(submission), .earlier = submission.earlier};
    }
}

void RunObserver::ask(const Submission& submission) {
    const Instant now = Clock::now();
    if (last_ && now - *last_ < pause_) {
        return;
    }
    pause_ = last_ ? std::min(2 * pause_, longest_pause) : shortest_pause;
    last_ = now;
    answer_.queued.reset();
    try {
        answer_.queued = find_in_queue(submission);
        answer_.asked = true;
        answer_.trouble.clear();
    } catch (const Error& error) {  // reported in the status: the run's own file counts, Slurm may be elsewhere
        answer_.asked = false;
        answer_.trouble = fmt::format("{}: {}", error.text().where, error.text().what);
    }
    answer_.record = answer_.queued ? std::nullopt : find_accounting_info(submission);
}

int wait_for_run(const std::filesystem::path& run_folder) {
    const HeldFolder held(run_folder, FolderTrust::only_mine);
    RunObserver observer(run_folder);
    int signal = 0;
    {
        const EndSignals signals;
        ProgressView progress;
        std::string last_state;
        Instant since = Clock::now();  // start of that state
        Instant due = since;
        while (signal == 0) {
            const RunView view = observer.look();
            if (view.job.empty()) {
                refuse_to_wait(run_folder);
            }
            if (is_done(view)) {
                const int code = code_of(view, {.run_folder = run_folder});
                progress.say(end_text(view, code));
                return code;
            }
            const Instant now = Clock::now();
            const std::string state = state_text(view);
            since = state == last_state ? since : now;
            if (progress.is_terminal() || state != last_state || now >= due) {
                progress.show(line_of(view, progress));
                due = since + std::chrono::duration_cast<Instant::duration>(next_line(now - since));
            }
            last_state = state;
            signal = signals.wait(look_every);
            if (signal != 0) {
                progress.say(
                    fmt::format("no longer waiting; job {0} continues: `{1} status {0}` shows how, "
                                "`{1} cancel {0}` ends it",
                                view.job, program_name()));
            }
        }
    }
    ::raise(signal);
    return 0;  // never: its handler is the default one
}

}  // namespace sluice
