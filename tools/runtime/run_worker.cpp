#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "comm/clock_alignment.hpp"
#include "comm/message_pieces.hpp"
#include "comm/mpi_worker.hpp"
#include "comm/node_sharing.hpp"
#include "comm/serve.hpp"
#include "core/chunk_grid.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/rank_report.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds patience{3};  // for rank 0 to take a failure, and then to end the job

/// Lets rank 0 say what happened here and end all ranks; if it does not, or cannot because it does not serve yet, this
/// rank does.
[[noreturn]] void fail(RankContext& context, const Failure& failure, bool root_serves) {
    if (root_serves && MpiWorker::report_failure(*context.session, encode_failure(failure), patience)) {
        std::this_thread::sleep_for(patience);  // rank 0's abort ends this process here
    }
    print_once(context, failure.text);
    end_now(context, failure.code);
}

/// Launchers let the ranks of other nodes than rank 0's live for a while.
[[noreturn]] void end_with_root(RankContext& context, const RootHasEnded& end) {
    if (!end.text().id.empty()) {
        context.last_words.note_lost_rank(0, end.text().where + " " + end.text().what, {});
        print_once(context, end.text());
    }
    end_now(context, end.code());
}

WeightBlob receive_weights(MpiSession& session) {
    WeightBlob weights;
    broadcast_once_a_node(session, weights.memory);
    return weights;
}

/// This rank's part, once it knows the job. Returns the code that all ranks end with.
int work(RankContext& context, const JobPlan& plan, const ClockOffset& clock, bool& root_serves) {
    MpiSession& session = *context.session;
    context.first_chunk = plan.first_chunk;
    context.board.mine().first_chunk.store(plan.first_chunk);
    leave_notes_in(context, plan.dump_folder);
    context.hangs.begin({.timeout = plan.hang_timeout,
                         .first_chunk = plan.first_chunk,
                         .hosts = {plan.root_host},
                         .dump_folder = plan.dump_folder});
    const std::unique_ptr<OpenApp> app = open_app(plan, context.apps);
    const IoShape shape = app->shape();
    RankShare share = choose_share(context, plan);
    const std::vector<std::uint32_t> devices = share.devices();
    static_cast<void>(session.all_gather(static_cast<int>(devices.size())));
    const std::unique_ptr<LoadedApp> loaded =
        load_app(context, plan, *app, receive_weights(session), share.place.cores);
    std::string sample;
    if (loaded->sample_items() != 0) {
        session.broadcast(sample);
    }
    root_serves = true;

    check_memory(plan_memory({.shape = shape,
                              .chunk_items = plan.chunk_items,
                              .depth = plan.depth,
                              .devices = devices.size(),
                              .work_bytes = loaded->work_bytes(plan.chunk_items)}),
                 plan.device, context.memory_share());
    std::deque<Endpoint> endpoints;
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
        endpoints.emplace_back(plan.depth, context.bell);
    }
    MpiWorker worker(
        session, endpoints, context.board.mine(),
        {.item = shape, .chunk_items = plan.chunk_items, .depth = plan.depth, .largest_message = largest_message},
        {.lane = &context.lanes.add(LaneKind::comm, "comm thread"),
         .root_host = plan.root_host,
         .longest_silence = longest_silence(plan.drain_timeout)});
    const ChunkGrid grid = ChunkGrid(plan.items, plan.chunk_items).rest(plan.first_chunk);
    DriverTeam team(*loaded, endpoints,
                    {.device = plan.device,
                     .device_numbers = devices,
                     .pipeline = {.depth = plan.depth,
                                  .chunk_items = plan.chunk_items,
                                  .last_items = grid.short_items(),
                                  .lanes = &context.lanes},
                     .chunks = grid.chunks(),
                     .sample = std::as_bytes(std::span(sample)),
                     .machine = &share.machine,
                     .cpus = share.driver_cpus()});
    warn_once(context, team.finding());
    try {
        bind_comm_thread(context, share);
        context.stop.enter(RunPhase::serving);
        worker.run(context.bell, context.stop);
        context.stop.enter(RunPhase::finishing);
    } catch (const RootHasEnded& end) {
        end_with_root(context, end);
    } catch (...) {  // here, where the drivers' buffers still live: messages may be under way
        fail(context, describe(std::current_exception(), context.who(), context.first_chunk), root_serves);
    }
    root_serves = false;
    RankTrace trace = team.take_trace();
    trace.rank = session.rank();
    trace.host = context.host;
    trace.milestones.start = context.start;
    trace.milestones.finish = Clock::now();
    try {
        worker.wait_for_the_end(context.bell, context.stop);
    } catch (const RootHasEnded& end) {
        end_with_root(context, end);
    }
    Instant::rep common_start = 0;
    session.broadcast_number(common_start);
    std::int64_t code = 0;
    session.broadcast_number(code);
    static_cast<void>(
        session.gather(encode(make_rank_report(trace, Instant(Instant::duration(common_start)), clock.offset))));
    return static_cast<int>(code);
}

}  // namespace

int run_worker(RankContext& context) {
    bool root_serves = false;
    try {
        MpiSession& session = *context.session;
        static_cast<void>(session.gather(greeting(context)));
        const ClockOffset clock = align_clock(session);
        std::string announcement;
        session.broadcast(announcement);
        const RootAnnouncement said = decode_announcement(announcement);
        if (said.code != 0 || said.complete) {
            return said.code;
        }
        return work(context, decode_job_plan(said.plan), clock, root_serves);
    } catch (...) {  // never let out: the other ranks would wait for this one in MPI_Finalize for ever
        fail(context, describe(std::current_exception(), context.who(), context.first_chunk), root_serves);
    }
}

}  // namespace sluice
