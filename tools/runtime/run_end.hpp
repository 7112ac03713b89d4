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
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_monitor.hpp"

namespace sluice {

// How rank 0 ends a run that does not come to its end.

/// Rank 0 as far as it has come, and with it whom and what its end is told to. Everything it points to outlives it.
struct Root {
    const RankContext& context;
    RunMonitor& monitor;
    CommittedOutput* output = nullptr;  ///< Once it is open, unless it is complete.
    MpiRemoteHub* others = nullptr;     ///< While it serves them.
};

/// Lets `action` run while rank 0 gives the other ranks its heartbeats: files may keep it waiting. For the thread
/// that makes its MPI calls. Throws what `action` throws.
void give_signs_while(const Root& root, const std::function<void()>& action);

/// Prints `text` as the job's one message; the run's status tells it too.
void explain_end(const Root& root, const ErrorText& text);

/// What to print and return for `failure`, this rank's own or one that another rank has reported.
[[nodiscard]] Failure describe_at_root(const std::exception_ptr& failure, const RankContext& context);

/// A device of rank `rank` has failed on a chunk, as it might again: the next attempts hear of it as of a death.
void note_device_failure(const RankContext& context, const Failure& failure, int rank);

/// The rank that has failed with `failure`.
[[nodiscard]] int rank_of(const std::exception_ptr& failure);

/// One message, and the end of this process and of all ranks, at once. What is committed stays; nothing else does.
[[noreturn]] void end_all(const Root& root, Failure failure);

/// Of a run that was asked to stop and has drained, or given up to: exit code 75.
[[nodiscard]] Failure stopped_early(const Served& served, const RankBoard::Committed& committed);

/// Of a run that another rank, on `host`, was lost to while it drained; it held `chunks`. srun, for one, asks the
/// living to stop and says nothing of the dead.
[[nodiscard]] Failure lost_while_draining(const Served& served, const std::string& host,
                                          const std::vector<std::uint64_t>& chunks);

/// Of rank 0 that was stopped for a while, alone on its node: the others took it for dead, and left `cause`.
[[nodiscard]] Failure given_up_by_others(const RankContext& context, const std::string& cause);

/// Tells the user, on stderr, that a stop was heard.
void say_that_it_drains(const StopCause& cause);

/// What a report says that is written before the run has drained.
[[nodiscard]] ErrorText why_it_drains(const StopCause& cause);

/// While it lives, a hang is looked for, and `shutdown_hook` are said when the job has to end at once.
class Watched {
public:
    /// `context` and `options.book` outlive it.
    Watched(const RankContext& context, HangWatchOptions options, ShutdownHook::Action shutdown_hook);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

private:
    const RankContext& context_;
};

}  // namespace sluice
