#include "tools/runtime/run_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <cstring>
#include <string>
#include <utility>

#include "comm/crash_reports.hpp"
#include "comm/job_end.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/program_name.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {
namespace {

/// An attempt that has taken over, or moving the run's folder, removes this attempt's files, which may cause any error
/// here.
Failure or_fenced_off(CommittedOutput* output, Failure failure) {
    const bool is_of_files = failure.code == ExitCode::cannot_create || failure.code == ExitCode::io_error;
    if (output != nullptr && is_of_files) {
        try {
            output->check_fence();
        } catch (const Error& error) {
            return Failure{error.code(), error.text()};
        }
    }
    return failure;
}

/// With what the same command would not do again.
Failure with_hint(const RankBoard& board, Failure failure) {
    const std::string committed = board.describe_committed(RankBoard::LaterCommits::none);
    if (can_go_on(failure.code) && !committed.empty()) {
        failure.text.hint += (failure.text.hint.empty() ? "" : "; ") + committed;
    }
    return failure;
}

/// Records the end in files as far as possible; they may be the cause of the end.
void leave_end_behind(const Root& root, CommittedOutput* output, const Failure& failure) {
    root.context.shutdown_hook.note_end(failure.code, failure.text);
    if (output != nullptr && output->attempt() == 1 && !counts_as_death(failure.code)) {
        abandon_if_empty(root, *output);
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

std::string how_to_resume(const StopCause& cause, const RankBoard::Committed& committed, std::uint64_t first,
                          const AttemptId& attempt) {
    const std::string command =
        attempt.most ? fmt::format("`{} submit`", program_name()) : std::string("the same command");
    if (committed.chunks == 0) {
        return fmt::format("nothing is committed yet: {} starts from the beginning", command);
    }
    if (!attempt.most) {
        return "run the same command again: it resumes from there";
    }
    const bool may_follow =
        attempt.number < *attempt.most && committed.chunks > first && cause.reason != StopReason::drain_request;
    if (!may_follow) {
        return fmt::format("{} resumes from there", command);
    }
    const bool may_be_the_jobs_end = cause.reason == StopReason::signal && cause.signal != SIGUSR1;
    return may_be_the_jobs_end
               ? fmt::format("unless Slurm has ended the job, it resumes from there by itself; else {} does", command)
               : std::string("nothing to do: the job resumes from there by itself");
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

/// Of this rank, or reported by another.
Failure describe_at_root(const std::exception_ptr& failure, const RankContext& context) {
    try {
        std::rethrow_exception(failure);
    } catch (const RemoteFailure& remote) {
        return decode_failure(remote.what());
    } catch (...) {
        return describe(failure, context.who());
    }
}

}  // namespace

void send_heartbeats_while(MpiRemoteHub* others, const std::function<void()>& action) {
    others == nullptr ? action() : others->heartbeats().send_while(action);
}

void abandon_if_empty(const Root& root, CommittedOutput& output) {
    if (output.attempt() == 1 && output.chunks_committed() == 0) {
        root.monitor.withdraw();
    }
    output.abandon_if_empty();
}

void explain_end(const Root& root, const ErrorText& text) {
    root.monitor.explain(text);
    print_once(root.context, text);
}

void end_all(const Root& root, const EndReach& reach, Failure failure) {
    send_heartbeats_while(reach.others, [&] {
        failure = with_hint(root.context.board, or_fenced_off(reach.output, std::move(failure)));
        leave_end_behind(root, reach.output, failure);
    });
    explain_end(root, failure.text);
    send_heartbeats_while(reach.others, [&] { root.monitor.end(failure.code); });
    // First: ranks that this ends may end this process before it is done.
    root.context.board.mine().end_with(failure.code);
    if (reach.others != nullptr) {
        reach.others->end_ranks(failure.code);
    }
    end_now(root.context, failure.code);
}

void fail(const Root& root, const EndReach& reach, const std::exception_ptr& thrown) {
    const RankContext& context = root.context;
    const Failure failure = describe_at_root(thrown, context);
    const Ending ending =
        decide_end({.cause = EndCause::failure, .code = failure.code, .is_of_device = !failure.chunks.empty()});
    if (ending.notes_loss) {
        const int rank = rank_of(thrown);
        std::vector<std::uint64_t> chunks = context.hangs.chunks_of(rank);  // a GPU's error may be another chunk's
        chunks.insert(chunks.end(), failure.chunks.begin(), failure.chunks.end());
        context.shutdown_hook.note_lost_rank(rank, failure.text.where + ": " + failure.text.what, chunks);
    }
    end_all(root, reach, failure);
}

ErrorText stopped_early(const Served& served, const RankBoard::Committed& committed, std::uint64_t first,
                        const AttemptId& attempt) {
    std::string end;
    if (served.gave_up) {
        end = fmt::format("; chunks in flight took longer than {}",
                          served.at_limit ? "the time left" : "fault.drain_timeout");
    }
    return {.id = "E-RUN-075",
            .where = served.stop.rank == 0 ? std::string() : fmt::format("rank {}", served.stop.rank),
            .what = fmt::format("{} after {} of {} chunks{}", stopped_text(served.stop), committed.chunks,
                                committed.all, end),
            .hint = how_to_resume(served.stop, committed, first, attempt)};
}

ErrorText lost_while_draining(const Served& served, const std::string& host, const std::vector<std::uint64_t>& chunks) {
    return {.id = "E-RUN-001",
            .where = fmt::format("rank {} on {}", served.lost_rank, escaped(host)),
            .what = fmt::format("died, or cannot be reached: no heartbeat since it was {}; chunks that it held: {}",
                                stopped_text(served.stop),
                                chunks.empty() ? "none" : fmt::format("{}", fmt::join(chunks, ", "))),
            .hint = "look for SIGKILL or oom_kill in its node's log"};
}

ErrorText given_up_by_others(const RankContext& context, const std::string& cause) {
    return {.id = "E-RUN-076",
            .where = context.who(),
            .what = "was suspended for a while; other ranks have ended the job meanwhile: " + cause,
            .hint = "check its node"};
}

void say_that_it_drains(const StopCause& cause) {
    say(fmt::format("sluice: {}: finishing the chunks in flight; a second signal stops at once\n", name_of(cause)));
}

ErrorText why_it_drains(const StopCause& cause) {
    return {.id = "E-RUN-075", .what = fmt::format("{}, before the chunks in flight were finished", name_of(cause))};
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
