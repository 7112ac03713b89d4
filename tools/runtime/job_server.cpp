#include "tools/runtime/job_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "comm/job_end.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "core/machine/cgroup.hpp"
#include "scheduler/reading.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/run_report.hpp"
#include "tools/runtime/suspects.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds longest_commit{2};
constexpr std::chrono::milliseconds commit_look{5};

/// Cores for rank 0's readers and encoders.
std::uint32_t cores_of_readers(const RankShare& share) {
    const Topology& topology = share.machine.topology;
    const std::uint32_t usable = usable_cores(topology, topology.mask, read_quota_cpus());
    return share.binds ? std::clamp(cores_in(topology, share.place.cpus), 1U, usable) : usable;
}

std::uint32_t readers_for(const PreparedJob& job, const PreparedRank& rank) {
    const ItemSource& source = *job.source;
    const auto items = static_cast<double>(std::max<std::uint64_t>(1, source.known().count));
    return choose_readers({.cores = cores_of_readers(rank.share),
                           .device = job.plan.device,
                           .devices = rank.total_devices(),
                           .flop_per_item = job.flop_per_item,
                           .file_bytes = static_cast<double>(source.bytes()) / items,
                           .packed_bytes = static_cast<double>(rank.wire.item.input_bytes)});
}

/// The attempt's output, which makes rows on these threads from now on.
CommittedOutput& output_with(const OpenAttempt& attempt, const EncoderThreads& encoders) {
    attempt.output->use_encoders(encoders.used);
    return *attempt.output;
}

}  // namespace

JobServer::JobServer(const Root& root, const PreparedJob& job, const OpenAttempt& attempt, const Meeting& meeting,
                     PreparedRank& rank, const RunOptions& options)
    : context_(root.context),
      root_(root),
      job_(job),
      attempt_(attempt),
      hosts_(meeting.hosts),
      rank_(rank),
      options_(options),
      grid_(job.plan.grid()),
      readers_(readers_for(job, rank)),
      encoders_(count_encoders()),
      starting_(std::in_place, context_, rank.share, readers_),
      input_(*job.source, grid_,
             {.input_bytes = rank.wire.item.input_bytes,
              .staged = rank.queues->staged,
              .readers = readers_,
              .on_demand = job.job.pipeline.mode == PipelineMode::serial,
              .memory = rank.shared.memory,
              .activities = &context_.activities},
             context_.bell),
      results_(output_with(attempt, encoders_), grid_, rank.wire.item.output_bytes, rank.queues->window, context_.bell,
               &context_.activities.add(ActivityKind::writer, "writer")),
      server_(grid_, input_, results_,
              {.distribution = job.job.pipeline.distribution,
               .devices_of_rank = rank.devices,
               .depth = rank.wire.depth,
               .lag = rank.app->lag()}),
      comm_trace_(context_.session == nullptr ? 1 : context_.session->size(), grid_.chunks_left()),
      local_(rank.endpoints, server_, context_.board.mine(), comm_trace_) {
    starting_.reset();
    if (context_.session != nullptr) {
        remote_.emplace(*context_.session, server_, comm_trace_, rank.wire, rank.devices, rank.queues->staged,
                        rank.queues->window, rank.shared);
    }
    if (options.progress) {
        progress_.emplace([this] { return items_so_far(job_, results_.items_written()); });
    }
}

JobServer::~JobServer() {
    root_.monitor.serve_no_more();
}

RankTrace JobServer::run() {
    DriverTeam team(*rank_.app, rank_.endpoints, driver_options(context_, job_.plan, rank_));
    std::optional<HangDetection> hang_detection;
    try {
        root_.monitor.serve({.book = &server_.book(),
                             .hosts = hosts_,
                             .grid = [this] { return estimated_grid(job_); },
                             .is_counted = [this] { return job_.source->is_counted(); },
                             .items_written = [this] { return results_.items_written(); },
                             .chunks_committed = [this] { return context_.board.committed().chunks; }});
        warn_once(context_, team.finding());
        hang_detection.emplace(context_, hang_watch_options(),
                               [&, this](ExitCode code, const ErrorText& reason) { end_abruptly(team, code, reason); });
        bind_comm_thread(context_, rank_.share);
        context_.stop.enter(RunPhase::serving);
        if (remote_) {
            remote_->heartbeats().send_every(heartbeat_interval(job_.plan.hang_timeout));
        }
        send_heartbeats_while(others(), [&, this] {
            const PhaseTimer timer(context_.phases, Phase::suspects);
            compute_suspects(context_, job_, attempt_, rank_, server_);
        });
        const Served served = serve(server_, local_, others(), context_.bell, context_.stop,
                                    {.activity = &context_.activities.add(ActivityKind::comm, "comm thread"),
                                     .drain_timeout = job_.job.fault.drain_timeout,
                                     .on_drain = [&, this](const StopCause& cause) { drain(cause, team); }});
        context_.stop.enter(RunPhase::finishing);
        PhaseTimer publishing(context_.phases, Phase::publish);
        finish(served);
        publishing.stop();
        if (remote_) {
            remote_->end_ranks(ExitCode::ok);
        }
    } catch (...) {
        progress_.reset();
        fail(root_, reach(), std::current_exception());
    }
    const PhaseTimer timer(context_.phases, Phase::finish);
    progress_.reset();
    team.join();
    input_.join();
    results_.stop();
    hang_detection.reset();  // what it does at a sudden end reads the traces that are taken now
    RankTrace trace = team.take_trace();
    std::vector<ThreadLog> ended = input_.take_logs();
    ended.push_back(results_.take_log());
    std::vector<ThreadTrace> traces;
    for (ThreadLog& thread : ended) {
        traces.push_back(std::move(thread.trace));
        trace.usage.push_back(std::move(thread.usage));
    }
    return joined(std::move(trace), std::move(traces));
}

/// Saves what can be saved before this process is ended, while some of its threads may hang.
void JobServer::end_abruptly(const DriverTeam& team, ExitCode code, const ErrorText& reason) {
    results_.hurry();
    root_.monitor.explain(reason);
    root_.monitor.end(code);
    publish_report(partial_report(team, reason), job_, options_,
                   {.code = code, .is_kept = context_.board.committed().chunks != 0});
    wait_until_committed();
    root_.monitor.count_again();
}

/// Joins the trace of the drivers with those of readers and writer, `threads`, and of the comm thread.
RankTrace JobServer::joined(RankTrace trace, std::vector<ThreadTrace> threads) const {
    trace.threads = std::move(threads);
    trace.threads.push_back(comm_trace_.scatter);
    trace.threads.push_back(comm_trace_.gather);
    return trace;
}

std::vector<LinkTraffic> JobServer::links() const {
    std::vector<LinkTraffic> links;
    for (std::size_t rank = 1; remote_ && rank < remote_->sent().size(); ++rank) {
        const MpiRemoteHub::Traffic& sent = remote_->sent()[rank];
        const MpiRemoteHub::Traffic& received = remote_->received()[rank];
        links.push_back({.rank = static_cast<int>(rank),
                         .to_rank = sent.bytes.load(std::memory_order_relaxed),
                         .from_rank = received.bytes.load(std::memory_order_relaxed),
                         .sending = sent.busy.load(std::memory_order_relaxed),
                         .receiving = received.busy.load(std::memory_order_relaxed)});
    }
    return links;
}

/// The launcher may kill the process shortly after a stop request: results should be committed by then, and with other
/// ranks a report be there.
void JobServer::drain(const StopCause& cause, const DriverTeam& team) {
    say_that_it_drains(cause);
    job_.source->give_up_index();
    results_.hurry();
    if (remote_) {
        send_heartbeats_while(others(), [&, this] {
            const RunReport report = partial_report(team, why_it_drains(cause));
            try {
                publish_report(report, job_, {.quiet = true}, {.is_kept = context_.board.committed().chunks != 0});
            } catch (const Error&) {  // will recur, and be reported, when the full report is written
            }
        });
    }
}

void JobServer::finish(const Served& served) {
    const std::optional<std::string> given_up =
        served.lost_rank == 0 ? std::nullopt : cause_of_loss(attempt_.folder, 0);
    const EndCause cause = cause_of_end(served, server_.end() == server_.grid().chunks(), given_up.has_value());
    const Ending ending = decide_end({.cause = cause});
    if (ending.saves == Ending::Saves::output) {
        send_heartbeats_while(others(), [this] {
            results_.stop();
            attempt_.output->publish();
        });
        context_.board.set_committed({});
        warn_at_the_end(*attempt_.output, job_);
        return;
    }
    send_heartbeats_while(others(), [this] {
        results_.stop();
        attempt_.output->commit();
    });
    Failure end{.code = ending.code,
                .text = given_up ? given_up_by_others(context_, *given_up)
                                 : stopped_early(served, context_.board.committed(), attempt_.output->first_chunk(),
                                                 this_attempt())};
    if (ending.notes_loss) {
        const std::vector<std::uint64_t> chunks = context_.hangs.chunks_of(served.lost_rank);
        end.text = lost_while_draining(served, hosts_.at(static_cast<std::size_t>(served.lost_rank)), chunks);
        context_.shutdown_hook.note_lost_rank(served.lost_rank, end.text.where + " " + end.text.what, chunks);
    }
    if (ending.aborts) {
        progress_.reset();
        end_all(root_, reach(), std::move(end));
    }
    send_heartbeats_while(others(), [this] { abandon_if_empty(root_, *attempt_.output); });
    stopped_by_ = std::move(end);
}

HangWatchOptions JobServer::hang_watch_options() {
    return {.timeout = job_.plan.hang_timeout,
            .devices = rank_.endpoints.size(),
            .book = &server_.book(),
            .hosts = hosts_,
            .dump_folder = attempt_.folder,
            .given_up = [folder = attempt_.folder] { return cause_of_loss(folder, 0); },
            .is_indexing = [this] { return !job_.source->is_counted(); }};
}

EncoderThreads JobServer::count_encoders() const {
    EncodingNeeds needs{.cores = cores_of_readers(rank_.share),
                        .items = job_.plan.items - grid_.items_done(),
                        .chunk_items = grid_.chunk_items(),
                        .row_bytes = attempt_.output->estimate_row_bytes()};
    const std::uint32_t used = choose_encoders(needs);
    needs.cores = std::numeric_limits<std::uint32_t>::max();
    return {.used = used, .useful = choose_encoders(needs)};
}

RunReport JobServer::report() const {
    RunReport report = report_of_run(job_, *attempt_.output, results_.items_written());
    report.depth = rank_.wire.depth;
    report.queues = *rank_.queues;
    report.encoders = encoders_;
    report.links = links();
    report.cut_texts = job_.codec->longest_text() ? std::optional(results_.cut_written()) : std::nullopt;
    report.attempts = attempt_.summaries;
    report.attempts.back().ranks = ranks();
    report.attempts.back().devices = rank_.total_devices();
    return report;
}

/// Report of a run that ends abruptly: this rank's records, and the other ranks' returned chunks.
RunReport JobServer::partial_report(const DriverTeam& team, const ErrorText& reason) const {
    std::vector<ThreadTrace> threads = input_.traces_so_far();
    threads.push_back(results_.trace_so_far());
    RankTrace trace = joined(team.trace_so_far(), std::move(threads));
    RunReport report = this->report();
    report.ended_by = fmt::format("{}{}{}: {}", reason.id, reason.where.empty() ? "" : ": ", reason.where, reason.what);
    report.ranks.push_back(make_rank_report(complete_trace(context_, std::move(trace)), context_.start, {}));
    const std::vector<GrantBook::Rank> returned = server_.book().ranks();
    for (std::size_t rank = 1; rank < returned.size(); ++rank) {
        report.lost.push_back({.rank = static_cast<int>(rank),
                               .host = escaped(hosts_.at(rank)),
                               .devices = rank_.devices.at(rank),
                               .chunks = returned[rank].chunks,
                               .items = returned[rank].items});
    }
    return report;
}

/// Waits for the writer, which was told to hurry; not forever, because it may be what hangs.
void JobServer::wait_until_committed() const {
    const Instant end = Clock::now() + longest_commit;
    const auto all_committed = [this] { return context_.board.committed().chunks >= results_.chunks_written(); };
    while (!all_committed() && Clock::now() < end) {
        std::this_thread::sleep_for(commit_look);
    }
}

}  // namespace sluice
