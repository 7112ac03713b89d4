#include <chrono>
#include <optional>
#include <thread>

#include "comm/mpi_worker.hpp"
#include "comm/serve.hpp"
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

/// Lets rank 0 report the failure and end all ranks; if it does not, or does not serve yet, this rank does.
[[noreturn]] void fail(const RankContext& context, const Failure& failure, bool root_serves) {
    if (root_serves && tell_root(context, failure)) {
        std::this_thread::sleep_for(patience);  // rank 0's abort ends this process here
    }
    print_once(context, failure.text);
    end_now(context, failure.code);
}

/// Launchers let ranks on nodes other than rank 0's live for a while.
[[noreturn]] void end_with_root(const RankContext& context, const RootHasEnded& end) {
    if (!end.text().id.empty()) {
        context.shutdown_hook.note_lost_rank(0, end.text().where + " " + end.text().what, {});
        print_once(context, end.text());
    }
    end_now(context, end.code());
}

/// From the first chunk to the last. Returns the exit code of all ranks.
int work(const RankContext& context, const JobPlan& plan, const Meeting& meeting, PreparedRank& rank,
         bool& root_serves) {
    MpiWorker worker(*context.session, rank.endpoints, context.board.mine(), rank.wire,
                     {.activity = &context.activities.add(ActivityKind::comm, "comm thread"),
                      .root_host = plan.root_host,
                      .longest_silence = longest_silence(plan.drain_timeout)});
    DriverTeam team(*rank.app, rank.endpoints, driver_options(context, plan, rank));
    warn_once(context, team.finding());
    try {
        bind_comm_thread(context, rank.share);
        context.stop.enter(RunPhase::serving);
        worker.run(context.bell, context.stop);
        context.stop.enter(RunPhase::finishing);
    } catch (const RootHasEnded& end) {
        end_with_root(context, end);
    } catch (...) {  // here, while the drivers' buffers still exist: messages may be pending
        fail(context, describe(std::current_exception(), context.who()), root_serves);
    }
    root_serves = false;
    RankTrace trace = complete_trace(context, team.take_trace());
    try {
        worker.wait_for_the_end(context.bell, context.stop);
    } catch (const RootHasEnded& end) {
        end_with_root(context, end);
    }
    return end_together(context, std::move(trace), rank.gpu_sampler->finish(),
                        {.first = meeting.clock, .from_root = worker.clock_bounds()})
        .code;
}

}  // namespace

int run_worker(const RankContext& context) {
    bool root_serves = false;
    std::optional<HeldFolder> notes;
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
        const JobPlan& plan = said.plan;
        notes = leave_notes_in(context, plan.dump_folder);
        PreparedRank rank = prepare_rank(context, plan, meeting, std::move(gpus));
        root_serves = true;
        check_memory(context, plan, rank);
        return work(context, plan, meeting, rank, root_serves);
    } catch (...) {  // must not escape: the other ranks would wait for this one in MPI_Finalize forever
        fail(context, describe(std::current_exception(), context.who()), root_serves);
    }
}

}  // namespace sluice
