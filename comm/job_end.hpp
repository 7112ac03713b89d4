#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "comm/serve.hpp"
#include "core/error.hpp"
#include "core/sync/stop_request.hpp"

namespace sluice {

// What a process does when it is asked to stop, and how it ends: the decisions, all pure. Whichever thread notices
// something carries them out: the watcher, rank 0's comm thread (tools/runtime/run_end), another rank's
// (tools/runtime/run_worker). A crash decides nothing: its handler reports it, and the signal takes its course.

/// A signal that this process has received, and what is known about earlier ones.
struct ReceivedSignal {
    int signal = 0;
    RunPhase phase = RunPhase::preparing;
    bool is_root = true;
    bool hears_root = false;                 ///< Of another rank: rank 0 has sent it a message while serving.
    int asked = 0;                           ///< Signal of the stop that is already under way; 0: none is.
    StopReason reason = StopReason::signal;  ///< Of that stop.
    std::optional<std::chrono::nanoseconds> since_first{};  ///< Since this process's first signal; nullopt: this is it.
};

enum class SignalAnswer : std::uint8_t {
    ignore,    ///< The same stop, passed on by a second sender.
    remember,  ///< The stop under way is not this process's first signal's, but the next signal is its second.
    drain,     ///< The run is to finish the chunks in flight.
    end,       ///< This process ends at once.
};

[[nodiscard]] SignalAnswer answer_signal(const ReceivedSignal& received);

enum class EndCause : std::uint8_t {
    // Noticed by rank 0's comm thread.
    unprepared,      ///< The job cannot be prepared, and the other ranks wait for an announcement.
    done,            ///< Every item is written.
    drained,         ///< A stop was asked for, and what was in flight is written.
    drain_too_long,  ///< A stop was asked for, and fault.drain_timeout has passed.
    rank_lost,       ///< A stop was asked for, and another rank has been silent since.
    given_up,        ///< The same, but it was this process that did not run: the others have ended the job.

    // By the comm thread of any rank.
    failure,  ///< An exception; on rank 0 also one that another rank has reported.

    // By the comm thread of another rank than 0.
    root_ended,  ///< Rank 0 says that it ends the job.
    root_lost,   ///< A stop was asked for, and rank 0 has been silent since.

    // By the watcher of any rank.
    signal,     ///< One that answer_signal() does not let wait.
    death,      ///< A rank of this node is gone.
    hang,       ///< A rank hangs, and this process is the first of its node to say so.
    told_hang,  ///< A rank hangs, but another process of the node has told why the job ends.
    root_gone,  ///< Rank 0 was on this node and has ended the job.
};

/// Of a run that rank 0 has served. `is_whole`: no chunk was left out. `is_given_up`: other ranks have recorded that
/// they lost rank 0.
[[nodiscard]] EndCause cause_of_end(const Served& served, bool is_whole, bool is_given_up);

/// All that an end depends on; what does not matter for a cause may be left out.
struct EndFacts {
    EndCause cause = EndCause::failure;
    ExitCode code = ExitCode::internal;    ///< Of unprepared and failure; of root_ended and root_gone, rank 0's.
    bool is_root = true;                   ///< This process is rank 0.
    bool is_alone = false;                 ///< There are no other ranks.
    bool root_knows = false;               ///< Of a death: rank 0, on this node, lives or has ended the job.
    bool root_serves = false;              ///< Rank 0 receives failures of other ranks.
    bool is_of_device = false;             ///< A failure that a device had with known chunks.
    int signal = 0;                        ///< Of EndCause::signal.
    RunPhase phase = RunPhase::preparing;  ///< When it came.
};

/// How a process ends, as far as that depends on the cause. Each thread reads what its causes set:
/// - the watcher: all but `tells_root` and `aborts`; then it calls _exit, whereupon the launcher ends the others.
/// - another rank's comm thread: code, is_said, notes_loss and tells_root; then it aborts, which ends all ranks.
/// - rank 0's comm thread: code and is_said of `unprepared`; notes_loss of a failure; code, notes_loss, aborts and
///   whether to publish of a run that it has served. It notes and says why every run but a complete one ends, and tells
///   the other ranks.
struct Ending {
    /// What rank 0 saves of the run.
    enum class Saves : std::uint8_t {
        nothing,
        status,   ///< The final status.json.
        results,  ///< Also what has been computed.
        output,   ///< Also the output is published.
    };

    ExitCode code = ExitCode::ok;
    bool is_said = false;         ///< Prints why, unless another process of its node has.
    bool notes_end = false;       ///< Leaves code and reason behind for the next attempt.
    bool notes_loss = false;      ///< Leaves behind which rank was lost, or whose device failed, and its chunks.
    bool waits_for_root = false;  ///< Lets rank 0 of its node, which has to save, go first.
    bool tells_root = false;      ///< Rank 0 gets the failure, and ends all ranks if it takes it.
    bool aborts = false;          ///< By MPI_Abort; otherwise all ranks meet in the MPI_Finalize of run().
    Saves saves = Saves::nothing;

    friend bool operator==(const Ending&, const Ending&) = default;
};

[[nodiscard]] Ending decide_end(const EndFacts& facts);

/// Whether a failure leaves the job intact, so that the same command continues it.
[[nodiscard]] bool can_go_on(ExitCode code);

}  // namespace sluice
