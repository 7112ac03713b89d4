#include "tools/runtime/run_monitor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/commit/file.hpp"
#include "core/process/standard_error.hpp"
#include "core/trace/thread_usage.hpp"
#include "slurm/stop_reason.hpp"
#include "slurm/time_limit.hpp"

namespace sluice {
namespace {

/// A folder that cannot be read now is read again later.
bool is_asked_to_drain(const RunFiles& files) {
    const FilePlace request = FilePlace::entry(files.drain_request());
    return ::faccessat(request.base(), request.name(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

RunMonitor::RunMonitor(StopRequest& stop, std::string host, std::optional<std::chrono::seconds> time_left,
                       std::chrono::milliseconds look_every)
    : stop_(stop), look_every_(look_every) {
    const AttemptId attempt = this_attempt();
    status_.job = attempt.job;
    status_.restarts = attempt.restarts;
    status_.attempt = attempt.number;
    status_.most_attempts = attempt.most;
    status_.host = std::move(host);
    status_.process = ::getpid();
    status_.started = unix_seconds();
    if (time_left) {
        limit_ = Clock::now() + *time_left;
    } else if (!attempt.job.empty()) {
        slurm_tells_ = true;
        asking_ = std::jthread([this, end = take_end_time()](const std::stop_token& token) { ask_slurm(end, token); });
    }
}

RunMonitor::~RunMonitor() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wake_.notify_all();
    asking_.request_stop();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void RunMonitor::prepare_in(const std::filesystem::path& run_folder, RunUse use) {
    const std::lock_guard lock(mutex_);
    role_ = use == RunUse::free ? Role::first : Role::guest;
    begin_in(run_folder);
}

void RunMonitor::open(const std::filesystem::path& run_folder, const std::filesystem::path& output) {
    const std::lock_guard lock(mutex_);
    status_.output = output.native();
    if (std::exchange(role_, Role::owner) == Role::guest && !over_) {
        look();
    }
    begin_in(run_folder);
}

void RunMonitor::found_complete(const ChunkGrid& grid) {
    const std::lock_guard lock(mutex_);
    role_ = Role::owner;  // whoever was at it has finished
    status_.items_committed = status_.items = status_.items_before = status_.items_done = grid.items();
    status_.chunks_committed = status_.chunks = status_.chunks_before = status_.chunks_done = grid.chunks();
}

void RunMonitor::serve(ServedRun run) {
    const std::lock_guard lock(mutex_);
    run_ = std::move(run);
    served_from_ = run_->book->running_time(Clock::now());
    status_.state = RunState::running;
    look();
}

void RunMonitor::serve_no_more() {
    const std::lock_guard lock(mutex_);
    look_at_run();
    run_.reset();
}

void RunMonitor::explain(const ErrorText& text) {
    const std::lock_guard lock(mutex_);
    if (explanation_.id.empty()) {
        explanation_ = text;
    }
}

void RunMonitor::withdraw() {
    const std::lock_guard lock(mutex_);
    if (files_ && status_.job.empty()) {
        static_cast<void>(try_to_remove_file(files_->status()));
        static_cast<void>(try_to_remove_file(files_->drain_request()));
        files_.reset();
    }
}

void RunMonitor::end(ExitCode code) noexcept {
    const std::lock_guard lock(mutex_);
    if (over_) {
        return;
    }
    over_ = true;
    look_at_run();
    if (role_ == Role::first && code == ExitCode::in_use) {
        role_ = Role::guest;
    }
    if (code == ExitCode::ok) {
        status_.items_committed = status_.items;
        status_.chunks_committed = status_.chunks;
    }
    const bool further = status_.chunks_committed > status_.chunks_before;
    status_.state = code == ExitCode::ok              ? RunState::complete
                    : code == ExitCode::stopped_early ? RunState::stopped
                                                      : RunState::failed;
    status_.end = RunEnd{.code = static_cast<int>(code),
                         .again = code == ExitCode::stopped_early && further && !drain_requested_,
                         .signal = stop_.signal(),
                         .text = explanation_};
    status_.seconds_left.reset();
    write();
    wake_.notify_all();
}

void RunMonitor::count_again() {
    const std::lock_guard lock(mutex_);
    if (run_) {
        take_counts();
        write();
    }
}

void RunMonitor::watch() {
    name_this_thread("monitor");
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, look_every_, [this] { return over_; })) {
        look();
    }
}

void RunMonitor::ask_slurm(const std::string& end_time, const std::stop_token& stop) {
    name_this_thread("asks Slurm");
    std::unique_lock lock(mutex_);
    const std::string job = status_.job;
    for (bool again = false; !over_; again = true) {
        std::optional<std::chrono::seconds> left;
        std::string why_not;
        lock.unlock();
        try {
            left = again ? ask_squeue_for_time_left(job, stop) : ask_time_left(job, end_time, stop);
        } catch (const Error& error) {
            why_not = fmt::format("{}: {}", error.text().where, error.text().what);
        }
        lock.lock();
        is_to_ask_ = false;
        if (!why_not.empty() && !over_) {
            say(ErrorText{
                .id = "W-SLM-114",
                .what = again ? fmt::format("cannot find out whether the job's time limit was raised ({})", why_not)
                              : fmt::format("cannot find out the job's time limit ({}); only Slurm's signal will tell, "
                                            "if there is one",
                                            why_not),
                .hint = "set slurm.resume.notice, or --time-left"});
        } else if (left) {
            limit_ = Clock::now() + *left;
        } else {
            limit_.reset();
        }
        wake_.wait(lock, [this] { return over_ || is_to_ask_; });
    }
}

// The functions below hold the mutex.

void RunMonitor::begin_in(const std::filesystem::path& run_folder) {
    if (files_ || over_) {
        return;
    }
    held_.emplace(run_folder, FolderTrust::only_mine);
    files_ = RunFiles{.run_folder = run_folder};
    if (!status_.most_attempts) {  // not submitted: the same command continues the run, so an old request is void
        static_cast<void>(try_to_remove_file(files_->drain_request()));
    }
    look();
    thread_ = std::thread([this] { watch(); });
}

void RunMonitor::look_at_run() {
    if (run_) {
        take_counts();
        take_rates();
    }
}

void RunMonitor::look() {
    look_at_run();
    stop_if_asked();
    if (run_ && stop_.signal() != 0) {
        status_.state = RunState::draining;
    }
    write();
}

void RunMonitor::take_counts() {
    const ServedRun& run = *run_;
    const std::uint64_t written = run.items_written();  // before the grid, which never has fewer
    status_.items_estimated = !run.is_counted();
    const ChunkGrid grid = run.grid();
    status_.items = grid.items();
    status_.items_before = grid.items_done();
    status_.items_done = status_.items_before + written;
    status_.chunks = grid.chunks();
    status_.chunks_before = grid.begin();
    status_.chunks_done = ChunkGrid(status_.items_done, grid.chunk_items()).chunks();
    // Committed between the two looks, or no longer told because the output is complete.
    const std::uint64_t committed = std::clamp(run.chunks_committed(), status_.chunks_before, status_.chunks_done);
    status_.chunks_committed = std::max(status_.chunks_committed.value_or(0), committed);
    status_.items_committed = grid.from(*status_.chunks_committed).items_done();
    const std::vector<GrantBook::Rank> ranks = run.book->ranks();
    status_.ranks.resize(ranks.size());
    const Instant now = Clock::now();
    for (std::size_t rank = 0; rank < status_.ranks.size(); ++rank) {
        RankStatus& row = status_.ranks[rank];
        row.host = rank < run.hosts.size() ? run.hosts[rank] : status_.host;
        row.chunks = ranks[rank].chunks;
        row.items = ranks[rank].items;
        row.seconds_since_chunk = std::max(0.0, Seconds(now - ranks[rank].last).count());
    }
}

void RunMonitor::take_rates() {
    const Instant now = Clock::now();
    rates_.take(status_, now);
    const std::uint64_t items = status_.items_done - status_.items_before;
    status_.mean_items_per_second = per_second(items, run_->book->running_time(now) - served_from_);
    status_.seconds_left.reset();
    if (status_.mean_items_per_second > 0) {
        status_.seconds_left = static_cast<double>(status_.items - status_.items_done) / status_.mean_items_per_second;
    }
}

void RunMonitor::stop_if_asked() {
    status_.limit = limit_ ? std::optional(unix_seconds() + Seconds(*limit_ - Clock::now()).count()) : std::nullopt;
    stop_.end_chunks_by(limit_ ? end_of_chunks(*limit_) : Instant::max());
    drain_requested_ = drain_requested_ || (files_ && is_asked_to_drain(*files_));
    if (!run_ || stop_.signal() != 0 || stop_.phase() != RunPhase::serving) {
        return;
    }
    const bool late = limit_ && !asks_again() && is_too_late(*limit_ - Clock::now(), run_->book->slowest_chunk());
    if (late || drain_requested_) {
        stop_.ask(SIGUSR1, late ? StopReason::time_limit : StopReason::drain_request);
    }
}

/// Asks Slurm once when the limit is near; true if it does so now, with an answer expected by the next look. A job that
/// lives on after its limit was suspended, and has got more time: then for as long as Slurm takes.
bool RunMonitor::asks_again() {
    const auto left = *limit_ - Clock::now();
    if (!is_nearly_too_late(left, run_->book->slowest_chunk())) {
        has_asked_again_ = false;
        return false;
    }
    if (!slurm_tells_) {
        return false;
    }
    if (std::exchange(has_asked_again_, true)) {
        return is_to_ask_ && left.count() < 0;
    }
    is_to_ask_ = true;
    wake_.notify_all();
    return true;
}

void RunMonitor::write() {
    if (!files_ || role_ == Role::guest) {
        return;
    }
    status_.updated = unix_seconds();
    const int error = write_run_status(files_->status(), status_);
    if (error != 0 && !std::exchange(warned_, true)) {
        say(ErrorText{.id = "W-RUN-115",
                      .where = escaped(files_->status().native()),
                      .what = fmt::format("cannot write the run's status: {}", system_text(error))});
    }
}

}  // namespace sluice
