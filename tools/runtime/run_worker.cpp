#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <thread>

#include "comm/job_end.hpp"
#include "comm/mpi_worker.hpp"
#include "comm/serve.hpp"
#include "core/commit/held_folder.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_rank.hpp"
#include "tools/runtime/run_report.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds patience{3};  // for rank 0 to receive a failure, and then to end the job

/// Whether rank 0 has received the failure.
bool tell_root(const RankContext& context, const Failure& failure) {
    try {
        return MpiWorker::report_failure(*context.session, encode_failure(failure), patience);
    } catch (const Error&) {  // of MPI: this rank prints the failure, which came first
        return false;
    }
}

/// A rank 0 that died, or one that cannot be reached.
Failure silent_root(const JobPlan& plan, const RankBoard& board, const RootIsSilent& root) {
    const std::string committed = board.describe_committed(RankBoard::LaterCommits::possible);
    return {.text = {.id = "E-RUN-001",
                     .where = "rank 0 on " + escaped(plan.root_host),
                     .what = fmt::format("died, or cannot be reached: no heartbeat for {:.1f} s after a stop was asked "
                                         "for",
                                         Seconds(root.silence()).count()),
                     .hint = "check its node; " +
                             (committed.empty() ? "the same command resumes from what is committed, if anything is"
                                                : committed)}};
}

/// Ends this process; launchers let ranks on nodes other than rank 0's live for a while.
[[noreturn]] void carry_out(const RankContext& context, const Ending& ending, const Failure& reason = {}) {
    if (ending.tells_root && tell_root(context, reason)) {
        std::this_thread::sleep_for(patience);  // rank 0's abort ends this process here
    }
    if (ending.notes_loss) {
        context.shutdown_hook.note_lost_rank(0, reason.text.where + " " + reason.text.what, {});
    }
    if (ending.is_said) {
        print_once(context, reason.text);
    }
    end_now(context, ending.code);
}

/// For the exception that is being handled.
[[noreturn]] void fail(const RankContext& context, bool root_serves) {
    const Failure failure = describe(std::current_exception(), context.who());
    carry_out(
        context,
        decide_end({.cause = EndCause::failure, .code = failure.code, .is_root = false, .root_serves = root_serves}),
        failure);
}

/// What `step` returns, which takes place while rank 0 serves; if it fails, rank 0 is told.
template <class Step>
auto while_root_serves(const RankContext& context, Step step) {
    try {
        return step();
    } catch (...) {
        fail(context, true);
    }
}

/// Runs `step` of a served run; if rank 0 ends the job meanwhile, or is lost, this rank ends too.
void follow_root(const RankContext& context, const JobPlan& plan, const std::function<void()>& step) {
    try {
        step();
    } catch (const RootHasEnded& end) {
        carry_out(context, decide_end({.cause = EndCause::root_ended, .code = end.code(), .is_root = false}));
    } catch (const RootIsSilent& root) {
        carry_out(context, decide_end({.cause = EndCause::root_lost, .is_root = false}),
                  silent_root(plan, context.board, root));
    }
}

/// From the first chunk to the last. Returns the exit code of all ranks.
int work(const RankContext& context, const JobPlan& plan, const Meeting& meeting, PreparedRank& rank) {
    MpiWorker worker = while_root_serves(context, [&] {
        check_memory(plan, rank);
        return MpiWorker(*context.session, rank.endpoints, context.board.mine(), rank.wire,
                         {.activity = &context.activities.add(ActivityKind::comm, "comm thread"),
                          .longest_silence = longest_silence(plan.drain_timeout),
                          .shared_items = rank.shared.memory});
    });
    DriverTeam team = while_root_serves(
        context, [&] { return DriverTeam(*rank.app, rank.endpoints, driver_options(context, plan, rank)); });
    while_root_serves(context, [&] {  // a failure ends here, where the drivers' buffers exist: messages may be pending
        warn_once(context, team.finding());
        bind_comm_thread(context, rank.share);
        context.stop.enter(RunPhase::serving);
        follow_root(context, plan, [&] { worker.run(context.bell, context.stop); });
        context.stop.enter(RunPhase::finishing);
    });
    RankTrace trace = complete_trace(context, team.take_trace());
    follow_root(context, plan, [&] { worker.wait_for_the_end(context.bell, context.stop); });
    return end_together(context, std::move(trace), rank.gpu_sampler->finish(),
                        {.first = meeting.clock, .from_root = worker.clock_bounds()}, plan.wants_trace)
        .code;
}

}  // namespace

int run_worker(const RankContext& context) {
    try {
        const Meeting meeting = meet_ranks(context);
        RootAnnouncement said = announce(context);
        if (said.code != 0) {
            return said.code;
        }
        GpuStart gpus = start_gpus(context, said.wish);
        said = announce(context);
        if (said.code != 0 || said.complete) {
            return said.code;
        }
        JobPlan& plan = said.plan;
        if (is_in_place(plan.dump_folder)) {
            leave_notes_in(context, plan.dump_folder);
        } else {
            plan.dump_folder.clear();  // rank 0 warns of it
        }
        PreparedRank rank = prepare_rank(context, plan, meeting, std::move(gpus));
        return work(context, plan, meeting, rank);
    } catch (...) {  // must not escape: the other ranks would wait for this one in MPI_Finalize forever
        fail(context, false);
    }
}

}  // namespace sluice
