#include "comm/job_end.hpp"

#include <signal.h>

#include "core/commit/attempt_history.hpp"

namespace sluice {
namespace {

/// A launcher and a resource manager may both pass on the same stop.
constexpr std::chrono::seconds same_stop{1};

/// Rank 0 ended because it was asked to stop before its first chunk: ranks of other nodes only learn of it by srun's
/// SIGTERM, shortly after the SIGUSR1 that they got too.
bool follows_root(const ReceivedSignal& received) {
    return received.signal == SIGTERM && received.asked == SIGUSR1 && received.phase == RunPhase::serving &&
           !received.is_root && !received.hears_root;
}

bool repeats_first(const ReceivedSignal& received) {
    return received.since_first && *received.since_first < same_stop &&
           (received.phase != RunPhase::preparing || received.signal == received.asked) && !follows_root(received);
}

/// Slurm's signal before the time limit, to a run that already stops for it or for a drain request.
bool announces_limit(const ReceivedSignal& received) {
    return received.signal == SIGUSR1 && received.reason != StopReason::signal && !received.since_first;
}

}  // namespace

SignalAnswer answer_signal(const ReceivedSignal& received) {
    if (received.asked != 0) {
        // Beyond a soft limit of CPU time the kernel repeats its signal each second, until the hard one.
        const bool is_no_wish = repeats_first(received) || received.signal == SIGXCPU;
        return is_no_wish                  ? SignalAnswer::ignore
               : announces_limit(received) ? SignalAnswer::remember
                                           : SignalAnswer::end;
    }
    // Rank 0 may already serve while this rank prepares, whose end would be a death: rank 0 drains or ends all ranks.
    const bool leaves_it_to_root = received.signal == SIGUSR1 && !received.is_root;
    return received.phase == RunPhase::preparing && !leaves_it_to_root ? SignalAnswer::end : SignalAnswer::drain;
}

EndCause cause_of_end(const Served& served, bool is_whole, bool is_given_up) {
    if (served.lost_rank != 0) {
        return is_given_up ? EndCause::given_up : EndCause::rank_lost;
    }
    if (served.gave_up) {
        return EndCause::drain_too_long;
    }
    return is_whole ? EndCause::done : EndCause::drained;
}

Ending decide_end(const EndFacts& facts) {
    using Saves = Ending::Saves;
    switch (facts.cause) {
        case EndCause::unprepared:  // alone, the caller of run() says it
            return {.code = facts.code, .is_said = !facts.is_alone};
        case EndCause::done:
            return {.saves = Saves::output};
        case EndCause::drained:
            return {.code = ExitCode::stopped_early};
        case EndCause::drain_too_long:  // other ranks are busy and receive no messages
            return {.code = ExitCode::stopped_early, .aborts = true};
        case EndCause::rank_lost:
            return {.code = ExitCode::internal, .notes_loss = true, .aborts = true};
        case EndCause::given_up:
            return {.code = ExitCode::communication, .aborts = true};
        case EndCause::failure:
            if (!facts.is_root) {
                return {.code = facts.code, .is_said = true, .tells_root = facts.root_serves};
            }
            return {.code = facts.code, .notes_loss = facts.is_of_device && counts_as_death(facts.code)};
        case EndCause::root_ended:
            return {.code = facts.code};
        case EndCause::root_lost:
            return {.code = ExitCode::internal, .is_said = true, .notes_loss = true};
        case EndCause::signal: {
            // Slurm's batch script reads the status; launchers do not send SIGUSR1 after a death.
            const bool is_slurms = facts.phase == RunPhase::preparing && facts.signal == SIGUSR1;
            return {.code = ExitCode::stopped_early,
                    .is_said = true,
                    .notes_end = true,
                    .saves = facts.is_root && is_slurms ? Saves::status : Saves::nothing};
        }
        case EndCause::death:  // rank 0 knows best what the rank held
            return {.code = ExitCode::internal,
                    .is_said = true,
                    .notes_loss = facts.is_root || !facts.root_knows,
                    .waits_for_root = !facts.is_root,
                    .saves = facts.is_root ? Saves::results : Saves::nothing};
        case EndCause::hang:
            return {.code = ExitCode::communication,
                    .is_said = true,
                    .notes_loss = true,
                    .saves = facts.is_root ? Saves::results : Saves::nothing};
        case EndCause::told_hang:
            return {.code = ExitCode::communication, .waits_for_root = !facts.is_root};
        case EndCause::root_gone:
            return {.code = facts.code};
    }
    expects(false, "decide_end: no such cause");
    return {};
}

bool can_go_on(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::out_of_memory || code == ExitCode::communication ||
           code == ExitCode::gpu_fault;
}

}  // namespace sluice
