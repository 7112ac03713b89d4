#include "tools/runtime/run_end.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <string>
#include <utility>

#include "comm/crash_reports.hpp"
#include "core/standard_error.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {
namespace {

/// Whether the failure leaves the job intact, so that the same command continues it.
bool can_go_on(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::out_of_memory || code == ExitCode::communication ||
           code == ExitCode::gpu_fault;
}

/// Ends that later attempts need to know, in case they end the same way.
bool is_death(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::communication;
}

/// An attempt that has taken over, or moving the run's folder, removes this attempt's files, which may cause any error
/// here.
Failure or_fenced_off(const Root& root, Failure failure) {
    const bool is_of_files = failure.code == ExitCode::cannot_create || failure.code == ExitCode::io_error;
    if (root.output != nullptr && is_of_files) {
        try {
            root.output->check_fence();
        } catch (const Error& error) {
            return Failure{error.code(), error.text()};
        }
    }
    return failure;
}

/// Records the end in files as far as possible; they may be the cause of the end.
void leave_end_behind(const Root& root, Failure& failure) {
    RankBoard& board = root.context.board;
    failure = or_fenced_off(root, std::move(failure));
    if (const std::string committed = board.describe_committed(); can_go_on(failure.code) && !committed.empty()) {
        failure.text.hint += (failure.text.hint.empty() ? "" : "; ") + committed;
    }
    root.context.shutdown_hook.note_end(failure.code, failure.text);
    if (root.output != nullptr && root.output->attempt() == 1 && !is_death(failure.code)) {
        if (board.committed().chunks == 0) {
            root.monitor.withdraw();
        }
        root.output->abandon_if_empty();
    }
}

/// Where the request was received.
std::string name_of(const StopCause& cause) {
    switch (cause.reason) {
        case StopReason::drain_request:
            return "a drain request";
        case StopReason::time_limit:
            return "the time limit is near";
        case StopReason::signal:
            break;
    }
    return fmt::format("SIG{}", sigabbrev_np(cause.signal));
}

/// "stopped by SIGTERM".
std::string stopped_text(const StopCause& cause) {
    return cause.reason == StopReason::time_limit ? "stopped near its job's time limit"
                                                  : "stopped by " + name_of(cause);
}

/// The rank that has failed.
int rank_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const RemoteFailure& remote) {
        return remote.rank();
    } catch (...) {
        return 0;
    }
}

}  // namespace

void send_heartbeats_while(const Root& root, const std::function<void()>& action) {
    root.others == nullptr ? action() : root.others->heartbeats().send_while(action);
}

void explain_end(const Root& root, const ErrorText& text) {
    root.monitor.explain(text);
    print_once(root.context, text);
}

Failure describe_at_root(const std::exception_ptr& failure, const RankContext& context) {
    try {
        std::rethrow_exception(failure);
    } catch (const RemoteFailure& remote) {
        return decode_failure(remote.what());
    } catch (...) {
        return describe(failure, context.who());
    }
}

void note_device_failure(const RankContext& context, const std::exception_ptr& thrown, const Failure& failure) {
    if (failure.chunks.empty() || !is_death(failure.code)) {
        return;
    }
    const int rank = rank_of(thrown);
    std::vector<std::uint64_t> chunks = context.hangs.chunks_of(rank);  // a GPU's error may be another chunk's
    chunks.insert(chunks.end(), failure.chunks.begin(), failure.chunks.end());
    context.shutdown_hook.note_lost_rank(rank, failure.text.where + ": " + failure.text.what, chunks);
}

void end_all(const Root& root, Failure failure) {
    send_heartbeats_while(root, [&] { leave_end_behind(root, failure); });
    explain_end(root, failure.text);
    send_heartbeats_while(root, [&] { root.monitor.end(failure.code); });
    // First: ranks that this ends may end this process before it is done.
    root.context.board.mine().end_with(failure.code);
    if (root.others != nullptr) {
        root.others->end_ranks(failure.code);
    }
    end_now(root.context, failure.code);
}

Failure stopped_early(const Served& served, const RankBoard::Committed& committed) {
    std::string end;
    if (served.gave_up) {
        end = "; chunks in flight took longer than fault.drain_timeout";
        end += served.stop.reason == StopReason::time_limit ? " or the time left" : "";
    }
    return {.code = ExitCode::stopped_early,
            .text = {.id = "E-RUN-075",
                     .where = served.stop.rank == 0 ? std::string() : fmt::format("rank {}", served.stop.rank),
                     .what = fmt::format("{} after {} of {} chunks{}", stopped_text(served.stop), committed.chunks,
                                         committed.all, end),
                     .hint = "run the same command again: it resumes from there"}};
}

Failure lost_while_draining(const Served& served, const std::string& host, const std::vector<std::uint64_t>& chunks) {
    return {
        .code = ExitCode::internal,
        .text = {.id = "E-RUN-001",
                 .where = fmt::format("rank {} on {}", served.lost_rank, escaped(host)),
                 .what = fmt::format(
                     "died, or cannot be reached: no heartbeat since it was {}; chunks that it held: {}",
                     stopped_text(served.stop), chunks.empty() ? "none" : fmt::format("{}", fmt::join(chunks, ", "))),
                 .hint = "look for SIGKILL or oom_kill in its node's log"}};
}

Failure given_up_by_others(const RankContext& context, const std::string& cause) {
    return {.code = ExitCode::communication,
            .text = {.id = "E-RUN-076",
                     .where = context.who(),
                     .what = "was suspended for a while; other ranks have ended the job meanwhile: " + cause,
                     .hint = "check its node"}};
}

void say_that_it_drains(const StopCause& cause) {
    say(fmt::format("sluice: {}: finishing the chunks in flight; a second signal stops at once\n", name_of(cause)));
}

ErrorText why_it_drains(const StopCause& cause) {
    return {.id = "E-RUN-075",
            .what = fmt::format("SIG{}, before the chunks in flight were finished", sigabbrev_np(cause.signal))};
}

HangDetection::HangDetection(const RankContext& context, HangWatchOptions options, ShutdownHook::Action shutdown_hook)
    : context_(context) {
    context_.shutdown_hook.set(std::move(shutdown_hook));
    CrashReports::set_book(options.book);
    context_.hangs.begin(std::move(options));
}

HangDetection::~HangDetection() {
    context_.hangs.end();
    CrashReports::set_book(nullptr);
    context_.shutdown_hook.clear();
}

}  // namespace sluice
