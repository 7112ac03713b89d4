#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "comm/hang_watch.hpp"
#include "comm/mpi_remote_hub.hpp"
#include "comm/rank_board.hpp"
#include "comm/serve.hpp"
#include "comm/shutdown_hook.hpp"
#include "core/commit/committed_output.hpp"
#include "core/stage_error.hpp"
#include "core/sync/stop_request.hpp"
#include "slurm/stop_reason.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_monitor.hpp"

namespace sluice {

// How rank 0 carries out what decide_end() says (comm/job_end.hpp), for runs that end early.

/// Rank 0, and who records its end. Both outlive it.
struct Root {
    const RankContext& context;
    RunMonitor& monitor;
};

/// What else an end of rank 0 has to do with, as far as there is.
struct EndReach {
    CommittedOutput* output = nullptr;  ///< Open, and not complete.
    MpiRemoteHub* others = nullptr;     ///< The ranks that it serves.
};

/// Runs `action`, which may block on files, while rank 0 sends heartbeats to `others`; null: it has none. For the
/// thread that makes its MPI calls. Rethrows the exception of `action`.
void send_heartbeats_while(MpiRemoteHub* others, const std::function<void()>& action);

/// For a first attempt that ends early: if nothing is committed, removes the run's folder with its status.
void abandon_if_empty(const Root& root, CommittedOutput& output);

/// Prints `text` as the job's only message, and stores it in the run's status.
void explain_end(const Root& root, const ErrorText& text);

/// Carries out an Ending of rank 0 that aborts: prints one message and ends this process and all ranks at once. Only
/// committed output is kept.
[[noreturn]] void end_all(const Root& root, const EndReach& reach, Failure failure);

/// The same for the failure of this rank, or of another that has reported it. If a device failed on chunks, as it might
/// again, this is recorded for later attempts.
[[noreturn]] void fail(const Root& root, const EndReach& reach, const std::exception_ptr& thrown);

/// For a run that was asked to stop and has drained, or given up draining; it began at chunk `first`. Says what
/// continues it: of a submitted job by itself, where its script is about to ask for another attempt.
[[nodiscard]] ErrorText stopped_early(const Served& served, const RankBoard::Committed& committed, std::uint64_t first,
                                      const AttemptId& attempt);

/// For a run that lost a rank, on `host` with `chunks`, while draining: srun, for one, asks surviving ranks to stop
/// without reporting the dead one.
[[nodiscard]] ErrorText lost_while_draining(const Served& served, const std::string& host,
                                            const std::vector<std::uint64_t>& chunks);

/// For a rank 0 that was suspended for a while, alone on its node: the others presumed it dead, and recorded `cause`.
[[nodiscard]] ErrorText given_up_by_others(const RankContext& context, const std::string& cause);

/// Reports a received stop request on stderr.
void say_that_it_drains(const StopCause& cause);

/// Reason in a report that is written before the run has drained.
[[nodiscard]] ErrorText why_it_drains(const StopCause& cause);

/// While it lives, hangs are detected, and `shutdown_hook` runs when the job has to end at once.
class HangDetection {
public:
    /// `context` and `options.book` outlive it.
    HangDetection(const RankContext& context, HangWatchOptions options, ShutdownHook::Action shutdown_hook);
    ~HangDetection();
    HangDetection(const HangDetection&) = delete;
    HangDetection& operator=(const HangDetection&) = delete;

private:
    const RankContext& context_;
};

}  // namespace sluice
