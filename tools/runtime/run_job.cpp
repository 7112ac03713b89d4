#include "tools/runtime/run_job.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <thread>

#include "comm/crash_reports.hpp"
#include "comm/watcher.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/launch.hpp"
#include "core/machine/provenance.hpp"
#include "core/process/standard_error.hpp"
#include "core/stage_error.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_monitor.hpp"
#include "tools/runtime/run_rank.hpp"

namespace sluice {

namespace {

/// For rank 0.
std::shared_ptr<RunMonitor> make_monitor(const RankContext& context, const RunOptions& options) {
    std::optional<std::chrono::seconds> left = options.time_left;
    if (left) {  // given as of this process's start
        *left -= std::chrono::ceil<std::chrono::seconds>(Clock::now() - context.start);
    }
    return std::make_shared<RunMonitor>(context.stop, context.host, left);
}

/// Runs rank 0 with its monitor, which records the end in any case.
int run_monitored(const RankContext& context, RunMonitor& monitor, const std::function<JobFile()>& job,
                  const RunOptions& options) {
    try {
        const int code = run_root(context, monitor, job, options);
        monitor.end(static_cast<ExitCode>(code));
        return code;
    } catch (const Error& error) {
        monitor.explain(error.text());
        monitor.end(error.code());
        throw;
    }
}

/// Of this process's life, which began at `start`.
struct ThisRank {
    MpiSession* session;  // null: there are no others
    RankBoard& board;
    Doorbell& bell;
    StopRequest& stop;
    const std::string& host;
    Instant start;
};

int run_rank(const ThisRank& rank, const std::function<JobFile()>& job, const Apps& apps, const RunOptions& options) {
    const CrashReports crash_reports(rank.board, rank.host);
    Activities activities;
    HangWatch hangs(rank.board, activities, rank.host);
    ShutdownHook shutdown_hook;
    PhaseLog phases;
    const ThrottleMeter throttling(own_cgroup_folders("cpu"));
    const RankContext context{.apps = apps,
                              .session = rank.session,
                              .board = rank.board,
                              .bell = rank.bell,
                              .stop = rank.stop,
                              .activities = activities,
                              .hangs = hangs,
                              .shutdown_hook = shutdown_hook,
                              .phases = phases,
                              .throttling = throttling,
                              .host = rank.host,
                              .job = options.named,
                              .start = rank.start};
    std::shared_ptr<RunMonitor> monitor;  // rank 0's
    if (context.rank() == 0) {
        monitor = make_monitor(context, options);
        shutdown_hook.set_stop_note([monitor](const ErrorText& text) {
            monitor->explain(text);
            monitor->end(ExitCode::stopped_early);
        });
    }
    const Watcher watcher(rank.board, rank.stop, hangs, shutdown_hook, rank.host);
    return monitor == nullptr ? run_worker(context) : run_monitored(context, *monitor, job, options);
}

/// For the exception that is being handled, which must not escape: MPI_Finalize would wait for the other ranks.
/// `board`: null: there is none, and it cannot be printed once only.
[[noreturn]] void end_all_ranks(MpiSession& session, RankBoard* board, const std::string& host) {
    const Failure failure = describe(std::current_exception(), fmt::format("rank {} on {}", session.rank(), host));
    if (board == nullptr || board->claim_message()) {
        say(failure.text);
    }
    if (board != nullptr) {
        board->mine().end_with(failure.code);
    }
    session.abort(failure.code);
}

}  // namespace

int run(const std::function<JobFile()>& job, const Apps& apps, const RunOptions& options) {
    const Instant start = Clock::now();
    block_signals();
    const std::string host = host_name();
    Doorbell bell;
    StopRequest stop(bell);

    std::jthread end_watch;  // until the session has ended
    std::optional<MpiSession> session;
    std::optional<RankBoard> board;
    try {
        if (read_launch().may_have_others()) {
            session.emplace();
            board.emplace(*session);
        } else {
            board.emplace();
        }
        const int code = run_rank({.session = session ? &*session : nullptr,
                                   .board = *board,
                                   .bell = bell,
                                   .stop = stop,
                                   .host = host,
                                   .start = start},
                                  job, apps, options);
        if (session) {
            session->barrier();  // rank 0 may take as long as it likes to write its report
            end_watch = session->watch_others_end();
        }
        return code;
    } catch (...) {
        if (!session) {
            throw;
        }
        end_all_ranks(*session, board ? &*board : nullptr, host);
    }
}

}  // namespace sluice
