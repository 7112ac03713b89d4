#include "tools/runtime/job_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include "comm/message_pieces.hpp"
#include "comm/mpi_remote_hub.hpp"
#include "comm/node_sharing.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/attempt_traces.hpp"
#include "core/commit/file.hpp"
#include "core/input/sample.hpp"
#include "core/machine/cgroup.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/reader_count.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/run_end.hpp"
#include "tools/runtime/run_report.hpp"
#include "tools/runtime/suspects.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds longest_commit{2};
constexpr std::chrono::milliseconds commit_look{5};

/// That rank 0's readers may run on.
std::uint32_t cores_of_readers(const RankShare& share) {
    const Topology& topology = share.machine.topology;
    const std::uint32_t usable = usable_cores(topology, topology.mask, read_quota_cpus());
    return share.binds ? std::clamp(cores_in(topology, share.place.cpus), 1U, usable) : usable;
}

ReadingNeeds reading_needs(const PreparedJob& job, const RankShare& share,
                           std::span<const std::uint32_t> devices_of_rank) {
    const ItemSource& source = *job.source;
    const auto items = static_cast<double>(std::max<std::uint64_t>(1, source.count()));
    return {.cores = cores_of_readers(share),
            .device = job.plan.device,
            .devices = std::accumulate(devices_of_rank.begin(), devices_of_rank.end(), 0U),
            .flop_per_item = job.app->flop_per_item(),
            .file_bytes = static_cast<double>(source.bytes()) / items,
            .wire_bytes = static_cast<double>(job.codec->shape().input_bytes)};
}

/// The devices of every rank, in rank order.
std::vector<std::uint32_t> devices_of_ranks(RankContext& context, std::uint32_t mine) {
    if (context.session == nullptr) {
        return {mine};
    }
    std::vector<std::uint32_t> devices;
    for (const int count : context.session->all_gather(static_cast<int>(mine))) {
        devices.push_back(static_cast<std::uint32_t>(count));
    }
    return devices;
}

}  // namespace

JobServer::JobServer(RankContext& context, PreparedJob& job, const RunOptions& options)
    : context_(context),
      job_(job),
      options_(options),
      grid_(ChunkGrid(job.plan.items, job.plan.chunk_items).rest(job.plan.first_chunk)),
      output_(*job.output, context.board),
      shape_(job.codec->shape()),
      share_(choose_share(context, job.plan)),
      devices_(devices_of_ranks(context, static_cast<std::uint32_t>(share_.place.devices.size()))),
      tally_(devices_.size()) {
    tell_size();
    const std::uint64_t slots = std::accumulate(devices_.begin(), devices_.end(), std::uint64_t{0}) * job.plan.depth;
    queues_ = choose_queue_sizes(shape_, grid_.chunk_items(), slots, grid_.chunks());
    if (context.session != nullptr) {
        broadcast_once_a_node(*context.session, job.weights.memory);
    }
    loaded_ = load_app(context, job.plan, *job.app, job.weights, share_.place.cores);
    job.weights = {};
    share_sample();
    check_memory(plan_memory({.shape = shape_,
                              .chunk_items = job.plan.chunk_items,
                              .depth = job.plan.depth,
                              .devices = devices_[0],
                              .work_bytes = loaded_->work_bytes(job.plan.chunk_items),
                              .staged_chunks = queues_.staged,
                              .window_chunks = queues_.window}),
                 job.plan.device, context.memory_share());
    const std::uint32_t readers = choose_readers(reading_needs(job, share_, devices_));
    const StartingReaders starting(context, share_, readers);
    input_.emplace(
        *job.source, grid_,
        ReadAheadOptions{
            .input_bytes = shape_.input_bytes, .staged = queues_.staged, .readers = readers, .lanes = &context.lanes},
        context.bell);
    results_.emplace(output_, grid_, shape_.output_bytes, queues_.window, context.bell,
                     &context.lanes.add(LaneKind::writer, "writer"));
    book_.emplace(queues_.window, devices_.size());
    if (options.progress) {
        progress_.emplace(job.plan.items, job.plan.items - grid_.items(), [this] { return results_->items_written(); });
    }
    context.monitor->serve({.tally = &tally_,
                            .hosts = context.hosts,
                            .items = job.plan.items,
                            .items_before = job.plan.items - grid_.items(),
                            .chunk_items = job.plan.chunk_items,
                            .items_written = [this] { return results_->items_written(); }});
}

JobServer::~JobServer() {
    context_.monitor->serve_no_more();
}

RankTrace JobServer::run() {
    const JobPlan& plan = job_.plan;
    ChunkServer server(grid_, *input_, *results_,
                       {.distribution = job_.job.pipeline.distribution,
                        .devices_of_rank = devices_,
                        .depth = plan.depth,
                        .tally = &tally_,
                        .book = &*book_});
    std::deque<Endpoint> endpoints;
    for (std::uint32_t i = 0; i < devices_[0]; ++i) {
        endpoints.emplace_back(plan.depth, context_.bell);
    }
    LocalHub local(endpoints, server, context_.board.mine(), 0);
    std::optional<MpiRemoteHub> remote;
    if (context_.session != nullptr) {
        remote.emplace(*context_.session, server,
                       WireShape{.item = shape_,
                                 .chunk_items = plan.chunk_items,
                                 .depth = plan.depth,
                                 .largest_message = largest_message},
                       devices_, queues_.staged, queues_.window);
    }
    DriverTeam team(*loaded_, endpoints,
                    {.device = plan.device,
                     .device_numbers = share_.devices(),
                     .pipeline = {.depth = plan.depth,
                                  .chunk_items = plan.chunk_items,
                                  .last_items = grid_.short_items(),
                                  .lanes = &context_.lanes},
                     .chunks = grid_.chunks(),
                     .sample = std::as_bytes(std::span(sample_)),
                     .machine = &share_.machine,
                     .cpus = share_.driver_cpus()});
    warn_once(context_, team.finding());
    const auto joined = [&](RankTrace trace, std::vector<LaneTrace> readers, LaneTrace writer) {
        std::ranges::move(readers, std::back_inserter(trace.lanes));
        trace.lanes.push_back(std::move(writer));
        if (remote && context_.session->size() > 1) {
            trace.lanes.push_back(remote->egress());
            trace.lanes.push_back(remote->ingress());
        }
        return trace;
    };
    const auto trace_so_far = [&] {
        return joined(team.trace_so_far(), input_->traces_so_far(), results_->trace_so_far());
    };
    const Watched watched(context_, hang_watch_options(), [&, this](const ErrorText& reason) {
        results_->hurry();
        context_.monitor->explain(reason);
        const ExitCode code = reason.id == "E-RUN-076" ? ExitCode::communication : ExitCode::internal;
        context_.monitor->end(code);
        publish_report(partial_report(trace_so_far(), reason), job_, options_,
                       {.code = code, .is_kept = context_.board.committed().chunks != 0});
        wait_until_committed();
    });
    try {
        bind_comm_thread(context_, share_);
        context_.stop.enter(RunPhase::serving);
        if (remote) {
            context_.tell_end = [&remote](ExitCode code) { remote->end_ranks(code); };
            context_.signs = &remote->signs();
            context_.signs->give_every(between_signs_of_life(plan.hang_timeout));
        }
        give_signs_while(context_, [&, this] {
            compute_suspects(context_, job_, server,
                             {.app = loaded_.get(),
                              .device = share_.place.devices[0].number,
                              .sample = std::as_bytes(std::span(sample_)),
                              .grid = grid_});
        });
        const Served served = serve(server, local, remote ? &*remote : nullptr, context_.bell, context_.stop,
                                    {.lane = &context_.lanes.add(LaneKind::comm, "comm thread"),
                                     .drain_timeout = job_.job.fault.drain_timeout,
                                     .on_drain = [&, this](const StopCause& cause) {
                                         drain(cause);
                                         if (context_.session != nullptr) {  // the launcher may kill it soon
                                             give_signs_while(context_, [&] {
                                                 report_drain(partial_report(trace_so_far(), why_it_drains(cause)));
                                             });
                                         }
                                     }});
        context_.stop.enter(RunPhase::finishing);
        if (served.lost_rank != 0) {
            end_after_loss(served);
        }
        finish(served, server.end() == grid_.chunks());
        context_.tell_end = nullptr;
        context_.signs = nullptr;
        if (remote) {
            remote->end_ranks(ExitCode::ok);
        }
    } catch (...) {
        progress_.reset();
        const Failure failure = describe_at_root(std::current_exception(), context_);
        note_device_failure(context_, failure, rank_of(std::current_exception()));
        end_all(context_, failure);
    }
    progress_.reset();
    RankTrace of_drivers = team.take_trace();  // waits for them
    return joined(std::move(of_drivers), input_->take_traces(), results_->take_trace());
}

/// What a launcher kills a moment after it has asked for the end is to be committed by then.
void JobServer::drain(const StopCause& cause) {
    say_that_it_drains(cause);
    results_->hurry();
}

void JobServer::report_drain(const RunReport& report) const {
    try {
        publish_report(report, job_, {.quiet = true}, {.is_kept = context_.board.committed().chunks != 0});
    } catch (const Error&) {  // met again, and said, when the whole report is written
    }
}

void JobServer::finish(const Served& served, bool whole) {
    if (!served.gave_up && whole) {
        give_signs_while(context_, [this] { output_.publish(); });
        warn_at_the_end(job_);
        return;
    }
    commit_what_came();
    stopped_by_ = stopped_early(served, context_.board.committed());
    if (served.gave_up) {  // other ranks are busy, and hear of nothing
        progress_.reset();
        end_all(context_, *stopped_by_);
    }
    give_signs_while(context_, [this] { job_.output->run().abandon_if_empty(); });
}

void JobServer::end_after_loss(const Served& served) {
    commit_what_came();
    progress_.reset();
    if (const auto cause = cause_of_loss(job_.plan.dump_folder, 0)) {
        end_all(context_, given_up_by_others(context_, *cause));
    }
    std::vector<std::uint64_t> chunks = context_.hangs.chunks_of(served.lost_rank);
    std::ranges::sort(chunks);
    const Failure lost =
        lost_while_draining(served, context_.hosts.at(static_cast<std::size_t>(served.lost_rank)), chunks);
    context_.last_words.note_lost_rank(served.lost_rank, lost.text.where + " " + lost.text.what, chunks);
    end_all(context_, lost);
}

void JobServer::commit_what_came() {
    give_signs_while(context_, [this] {
        results_->stop();
        output_.commit();
    });
}

/// Of this attempt, for those after it and for the report.
void JobServer::tell_size() {
    AttemptSummary& attempt = job_.summaries.back();
    attempt.ranks = static_cast<std::uint32_t>(devices_.size());
    attempt.devices = std::accumulate(devices_.begin(), devices_.end(), 0U);
    try {
        note_begin(job_.plan.dump_folder, *attempt.ranks, *attempt.devices);
    } catch (const Error& error) {
        throw while_running(error);
    }
}

/// What the models of all ranks want to see first.
void JobServer::share_sample() {
    if (loaded_->sample_items() == 0) {
        return;
    }
    sample_ = read_sample(*job_.source, loaded_->sample_items(), shape_.input_bytes);
    if (context_.session != nullptr) {
        context_.session->broadcast(sample_);
    }
}

HangWatchOptions JobServer::hang_watch_options() const {
    return {.timeout = job_.plan.hang_timeout,
            .first_chunk = job_.plan.first_chunk,
            .devices = devices_[0],
            .book = &*book_,
            .hosts = context_.hosts,
            .dump_folder = job_.plan.dump_folder,
            .given_up = [folder = job_.plan.dump_folder] { return cause_of_loss(folder, 0); }};
}

/// Of a run that ends at once: what this rank has recorded, and what the others have returned.
RunReport JobServer::partial_report(RankTrace&& trace, const ErrorText& reason) const {
    RunReport report = report_of_run(job_, results_->items_written());
    report.ended_by = fmt::format("{}{}{}: {}", reason.id, reason.where.empty() ? "" : ": ", reason.where, reason.what);
    report.ranks.push_back(report_of_root(context_, std::move(trace)));
    const std::vector<GrantBook::Rank> returned = book_->ranks();
    for (std::size_t rank = 1; rank < returned.size(); ++rank) {
        report.lost.push_back({.rank = static_cast<int>(rank),
                               .host = escaped(context_.hosts.at(rank)),
                               .chunks = returned[rank].chunks,
                               .items = returned[rank].items});
    }
    return report;
}

/// For the writer, which has been told to hurry. Not for ever: it may be what is stuck.
void JobServer::wait_until_committed() const {
    const Instant end = Clock::now() + longest_commit;
    const auto all_committed = [this] {
        return context_.board.committed().chunks >= job_.plan.first_chunk + results_->chunks_written();
    };
    while (!all_committed() && Clock::now() < end) {
        std::this_thread::sleep_for(commit_look);
    }
}

}  // namespace sluice
