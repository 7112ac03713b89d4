#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "comm/clock_alignment.hpp"
#include "comm/message_pieces.hpp"
#include "comm/mpi_remote_hub.hpp"
#include "comm/node_sharing.hpp"
#include "comm/watcher.hpp"
#include "core/build_id.hpp"
#include "core/cgroup.hpp"
#include "core/commit/run_paths.hpp"
#include "core/io/ordered_results.hpp"
#include "core/io/output_file.hpp"
#include "core/io/read_ahead.hpp"
#include "core/io/sample.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/queue_sizes.hpp"
#include "scheduler/reader_count.hpp"
#include "scheduler/report.hpp"
#include "tools/command_line.hpp"
#include "tools/driver_team.hpp"
#include "tools/job_output.hpp"
#include "tools/job_plan.hpp"
#include "tools/preflight.hpp"
#include "tools/progress.hpp"
#include "tools/rank_context.hpp"
#include "tools/suspects.hpp"
#include "tools/tune.hpp"

namespace sluice {
namespace {

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

Failure describe_root(const std::exception_ptr& failure, const RankContext& context) {
    try {
        std::rethrow_exception(failure);
    } catch (const RemoteFailure& remote) {
        return decode_failure(remote.what());
    } catch (...) {
        return describe(failure, context.who(), context.first_chunk);
    }
}

/// Whether what went wrong leaves the job as it is, so that the same command goes on.
bool can_go_on(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::out_of_memory || code == ExitCode::communication ||
           code == ExitCode::gpu_fault;
}

/// Notes the ranks' hosts.
void refuse_other_builds(RankContext& context) {
    const std::string mine = build_id();
    const std::vector<std::string> greetings = context.session->gather(greeting(context));
    context.hosts.clear();
    for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
        const std::string build = greetings[rank].substr(0, greetings[rank].find(' '));
        context.hosts.push_back(greetings[rank].substr(std::min(greetings[rank].size(), build.size() + 1)));
        if (build != mine) {
            throw Error(ExitCode::configuration,
                        {.id = "E-MPI-070",
                         .where = fmt::format("rank {}", rank),
                         .what = fmt::format("runs build {} of sluice, rank 0 runs {}", escaped(build), mine),
                         .hint = "start the same binary on every node"});
        }
    }
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

/// What the next attempts have to know of, should they end alike.
bool is_death(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::communication;
}

/// One message, and the end of this process and of all ranks, at once. What is committed stays; nothing else does.
[[noreturn]] void end_all(RankContext& context, Failure failure) {
    if (const std::string committed = context.board.describe_committed();
        can_go_on(failure.code) && !committed.empty()) {
        failure.text.hint += (failure.text.hint.empty() ? "" : "; ") + committed;
    }
    context.last_words.note_end(failure.code, failure.text);
    if (context.output != nullptr && context.output->run().epoch() == 1 && !is_death(failure.code)) {
        if (context.board.committed().chunks == 0) {
            context.monitor->withdraw();
        }
        context.output->run().abandon_if_empty();
    }
    print_once(context, failure.text);
    end_now(context, failure.code);
}

std::string text_of(const StopCause& cause) {
    switch (cause.reason) {
        case StopReason::drain_request:
            return "a drain request";
        case StopReason::time_limit:
            return "the end of its job's time";
        case StopReason::signal:
            break;
    }
    return fmt::format("SIG{}", sigabbrev_np(cause.signal));
}

/// Of a run that a signal has ended early, `chunks` of `all` committed.
Failure stopped(const Served& served, const RankBoard::Committed& committed) {
    const std::string end = served.gave_up ? "; chunks in flight took longer than fault.drain_timeout" : "";
    return {.code = ExitCode::stopped_early,
            .text = {.id = "E-RUN-075",
                     .where = served.stop.rank == 0 ? std::string() : fmt::format("rank {}", served.stop.rank),
                     .what = fmt::format("stopped by {} after {} of {} chunks{}", text_of(served.stop),
                                         committed.chunks, committed.all, end),
                     .hint = "run the same command again: it goes on from there"}};
}

constexpr std::chrono::seconds longest_commit{2};
constexpr std::chrono::milliseconds commit_look{5};

void say_that_it_drains(const StopCause& cause) {
    std::fputs(
        fmt::format("sluice: {}: finishing the chunks in flight; a second signal stops at once\n", text_of(cause))
            .c_str(),
        stderr);
}

/// What a report says of the job, without the ranks.
RunReport report_of_run(const PreparedJob& prepared, std::uint64_t items_done) {
    const JobPlan& plan = prepared.plan;
    const JobConfig& job = prepared.job;
    const ChunkGrid grid(plan.items, plan.chunk_items);
    return {.items = plan.items,
            .items_done = items_done,
            .items_before = plan.items - grid.rest(plan.first_chunk).items(),
            .chunks = grid.chunks(),
            .chunk_items = plan.chunk_items,
            .depth = plan.depth,
            .mode = job.pipeline.mode,
            .distribution = job.pipeline.distribution,
            .device = plan.device,
            .precision = plan.options.precision,
            .device_note = plan.device_note,
            .chunk_note = plan.chunk_note,
            .output_path = job.output.path.string(),
            .report_path = job.output.report.string(),
            .failed_items = prepared.output->failed_items()};
}

RankReport report_of_root(const RankContext& context, RankTrace&& trace) {
    trace.rank = 0;
    trace.host = context.host;
    trace.milestones.start = context.start;
    trace.milestones.finish = Clock::now();
    return make_rank_report(trace, context.start, {});
}

void publish_report(const RunReport& report, const JobConfig& job, const RunOptions& options) {
    OutputFile file(job.output.report);
    file.write(report_file_text(report, nlohmann::json(to_toml(job))));
    file.publish();
    if (!options.quiet) {
        const std::string before =
            report.items_before == 0 ? std::string() : fmt::format(", {} were there already", report.items_before);
        print(fmt::format("{} of {} items{}\n\n{}", report.items_done, report.items, before, latency_table(report)));
    }
}

/// While it lives, a hang is looked for, and `last_words` are said when the job has to end at once.
class Watched {
public:
    Watched(RankContext& context, HangWatchOptions options, LastWords::Action last_words) : context_(context) {
        context_.last_words.set(std::move(last_words));
        CrashReports::set_book(options.book);
        context_.hangs.begin(std::move(options));
    }
    ~Watched() {
        context_.hangs.end();
        CrashReports::set_book(nullptr);
        context_.last_words.clear();
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

private:
    RankContext& context_;
};

ErrorText why_it_drains(const StopCause& cause) {
    return {.id = "E-RUN-075",
            .what = fmt::format("SIG{}, before the chunks in flight were finished", sigabbrev_np(cause.signal))};
}

/// The run itself, from the plan to the published output.
class RootRun {
public:
    RootRun(RankContext& context, PreparedJob& job, const RunOptions& options)
        : context_(context),
          job_(job),
          options_(options),
          grid_(ChunkGrid(job.plan.items, job.plan.chunk_items).rest(job.plan.first_chunk)),
          output_(*job.output, context.board),
          shape_(job.codec->shape()),
          share_(choose_share(context, job.plan)),
          devices_(devices_of_ranks(context, static_cast<std::uint32_t>(share_.place.devices.size()))),
          tally_(devices_.size()) {
        const std::uint64_t slots =
            std::accumulate(devices_.begin(), devices_.end(), std::uint64_t{0}) * job.plan.depth;
        queues_ = choose_queue_sizes(shape_, grid_.chunk_items(), slots, grid_.chunks());
        if (context.session != nullptr) {
            broadcast_once_a_node(*context.session, job.weights.memory);
        }
        loaded_ = load_app(context, job.plan, job.weights, share_.place.cores);
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
        input_.emplace(*job.source, grid_,
                       ReadAheadOptions{.input_bytes = shape_.input_bytes,
                                        .staged = queues_.staged,
                                        .readers = readers,
                                        .lanes = &context.lanes},
                       context.bell);
        results_.emplace(output_, grid_, shape_.output_bytes, queues_.window, context.bell,
                         &context.lanes.add(LaneKind::writer, "writer"));
        book_.emplace(queues_.window, devices_.size());
        if (options.progress) {
            progress_.emplace(job.plan.items, job.plan.items - grid_.items(),
                              [this] { return results_->items_written(); });
        }
        context.monitor->serve({.tally = &tally_,
                                .hosts = context.hosts,
                                .items = job.plan.items,
                                .items_before = job.plan.items - grid_.items(),
                                .chunk_items = job.plan.chunk_items,
                                .items_written = [this] { return results_->items_written(); }});
    }

    ~RootRun() { context_.monitor->serve_no_more(); }
    RootRun(const RootRun&) = delete;
    RootRun& operator=(const RootRun&) = delete;

    /// Serves the job to its end and publishes the output; or, when it is stopped, commits what was done. Returns what
    /// rank 0 recorded.
    RankTrace run() {
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
        const auto trace_so_far = [&] {
            RankTrace trace = team.trace_so_far();
            for (LaneTrace& lane : input_->traces_so_far()) {
                trace.lanes.push_back(std::move(lane));
            }
            trace.lanes.push_back(results_->trace_so_far());
            if (remote && context_.session->size() > 1) {
                trace.lanes.push_back(remote->egress());
                trace.lanes.push_back(remote->ingress());
            }
            return trace;
        };
        const Watched watched(context_, hang_watch_options(), [&, this](const ErrorText& reason) {
            results_->hurry();
            context_.monitor->explain(reason);
            context_.monitor->end(reason.id == "E-RUN-076" ? ExitCode::communication : ExitCode::internal);
            publish_report(partial_report(trace_so_far(), reason), job_.job, options_);
            wait_until_committed();
        });
        try {
            bind_comm_thread(context_, share_);
            context_.stop.enter(RunPhase::serving);
            compute_suspects(context_, job_, server,
                             {.app = loaded_.get(),
                              .device = share_.place.devices[0].number,
                              .sample = std::as_bytes(std::span(sample_)),
                              .grid = grid_});
            const Served served = serve(server, local, remote ? &*remote : nullptr, context_.bell, context_.stop,
                                        {.lane = &context_.lanes.add(LaneKind::comm, "comm thread"),
                                         .drain_timeout = job_.job.fault.drain_timeout,
                                         .on_drain = [&, this](const StopCause& cause) {
                                             drain(cause);
                                             if (context_.session != nullptr) {  // the launcher may kill it soon
                                                 report_drain(partial_report(trace_so_far(), why_it_drains(cause)));
                                             }
                                         }});
            context_.stop.enter(RunPhase::finishing);
            finish(served, server.end() == grid_.chunks());
        } catch (...) {
            progress_.reset();
            end_all(context_, describe_root(std::current_exception(), context_));
        }
        progress_.reset();
        RankTrace trace = team.take_trace();
        for (LaneTrace& lane : input_->take_traces()) {
            trace.lanes.push_back(std::move(lane));
        }
        trace.lanes.push_back(results_->take_trace());
        if (remote && context_.session->size() > 1) {
            trace.lanes.push_back(remote->egress());
            trace.lanes.push_back(remote->ingress());
        }
        return trace;
    }

    [[nodiscard]] std::uint64_t items_written() const { return results_->items_written(); }

    /// Why it ended early, after run().
    [[nodiscard]] const std::optional<Failure>& stopped_by() const noexcept { return stopped_by_; }

private:
    /// What a launcher kills a moment after it has asked for the end is to be committed by then.
    void drain(const StopCause& cause) {
        say_that_it_drains(cause);
        results_->hurry();
    }

    void report_drain(const RunReport& report) const {
        try {
            publish_report(report, job_.job, {.quiet = true});
        } catch (const Error&) {  // met again, and said, when the whole report is written
        }
    }

    void finish(const Served& served, bool whole) {
        if (!served.gave_up && whole) {
            output_.publish();
            warn_at_the_end(job_);
            return;
        }
        results_->stop();
        output_.commit();
        stopped_by_ = stopped(served, context_.board.committed());
        if (served.gave_up) {  // other ranks are busy, and hear of nothing
            progress_.reset();
            end_all(context_, *stopped_by_);
        }
        job_.output->run().abandon_if_empty();
    }

    /// What the models of all ranks want to see first.
    void share_sample() {
        if (loaded_->sample_items() == 0) {
            return;
        }
        sample_ = read_sample(*job_.source, loaded_->sample_items(), shape_.input_bytes);
        if (context_.session != nullptr) {
            context_.session->broadcast(sample_);
        }
    }

    [[nodiscard]] HangWatchOptions hang_watch_options() const {
        return {.timeout = job_.plan.hang_timeout,
                .first_chunk = job_.plan.first_chunk,
                .devices = devices_[0],
                .book = &*book_,
                .hosts = context_.hosts,
                .dump_folder = job_.plan.dump_folder};
    }

    /// Of a run that ends at once: what this rank has recorded, and what the others have returned.
    [[nodiscard]] RunReport partial_report(RankTrace&& trace, const ErrorText& reason) const {
        RunReport report = report_of_run(job_, results_->items_written());
        report.ended_by =
            fmt::format("{}{}{}: {}", reason.id, reason.where.empty() ? "" : ": ", reason.where, reason.what);
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
    void wait_until_committed() const {
        const Instant end = Clock::now() + longest_commit;
        const auto all_committed = [this] {
            return context_.board.committed().chunks >= job_.plan.first_chunk + results_->chunks_written();
        };
        while (!all_committed() && Clock::now() < end) {
            std::this_thread::sleep_for(commit_look);
        }
    }

    RankContext& context_;
    PreparedJob& job_;
    RunOptions options_;
    ChunkGrid grid_;  // of what is left to do
    AnnouncedOutput output_;
    IoShape shape_;
    RankShare share_;
    std::vector<std::uint32_t> devices_;
    RankTally tally_;
    QueueSizes queues_;
    std::unique_ptr<LoadedApp> loaded_;
    std::string sample_;
    std::optional<ReadAhead> input_;
    std::optional<OrderedResults> results_;
    std::optional<GrantBook> book_;
    std::optional<Progress> progress_;
    std::optional<Failure> stopped_by_;
};

RunReport make_report(RankContext& context, const PreparedJob& prepared, const RootRun& run, RankTrace trace) {
    const RankReport mine = report_of_root(context, std::move(trace));
    RunReport report = report_of_run(prepared, run.items_written());
    if (context.session == nullptr) {
        report.ranks.push_back(mine);
        return report;
    }
    std::int64_t common_start = context.start.time_since_epoch().count();
    context.session->broadcast_number(common_start);
    std::int64_t code = static_cast<std::int64_t>(run.stopped_by() ? run.stopped_by()->code : ExitCode::ok);
    context.session->broadcast_number(code);
    for (const std::string& text : context.session->gather(encode(mine))) {
        report.ranks.push_back(decode_rank_report(text));
    }
    return report;
}

/// The ranks agree on a build and on the time. Returns the worst error of their clocks.
std::chrono::nanoseconds meet_other_ranks(RankContext& context) {
    if (context.session == nullptr) {
        context.hosts = {context.host};
        return {};
    }
    refuse_other_builds(context);
    return align_clock(*context.session).error;
}

/// The job, ready to run; or its Error, which is said and known to all other ranks by then: the launcher may end this
/// rank as soon as one of them leaves.
PreparedJob prepare_for_all(RankContext& context, const std::filesystem::path& job_file,
                            std::span<const Override> overrides, bool retry) {
    try {
        check_before_reading(context, read_job(job_file, overrides, app_names()));
        PreparedJob job = prepare_job(job_file, overrides, context.session == nullptr);
        if (!job.kept_chunk_items) {
            tune(job);
        }
        job.output = open_output(job);
        if (job.output->complete() == nullptr) {
            if (job.kept_chunk_items) {  // the depth is still open
                tune(job);
            }
            job.plan.first_chunk = job.output->first_chunk();
            job.plan.dump_folder = epoch_folder(job).native();
            leave_notes_in(context, job.plan.dump_folder);
            job.attempts = look_at_attempts(job, retry);
        }
        return job;
    } catch (...) {
        const Failure failure = describe(std::current_exception(), "");
        context.last_words.note_end(failure.code, failure.text);
        if (context.session != nullptr) {
            print_once(context, failure.text);
            std::string text = encode(RootAnnouncement{.code = static_cast<int>(failure.code)});
            context.session->broadcast(text);
        }
        throw Error(failure.code, failure.text);
    }
}

void announce(RankContext& context, const RootAnnouncement& announcement) {
    if (context.session != nullptr) {
        std::string text = encode(announcement);
        context.session->broadcast(text);
    }
}

std::filesystem::path run_folder_of(const JobConfig& job) {
    return run_paths(job.output.path, {}).run_folder();
}

int leave_complete(RankContext& context, const PreparedJob& job, const RunOptions& options) {
    announce(context, {.complete = true});
    context.monitor->found_complete(job.plan.items, job.plan.chunk_items);
    if (!options.quiet) {
        print(fmt::format("{} is already complete: {} items\n", escaped(job.job.output.path.native()), job.plan.items));
    }
    return static_cast<int>(ExitCode::ok);
}

}  // namespace

int run_root(RankContext& context, const std::filesystem::path& job_file, std::span<const Override> overrides,
             const RunOptions& options) {
    std::chrono::nanoseconds clock_error{0};
    try {
        clock_error = meet_other_ranks(context);
    } catch (...) {
        end_all(context, describe(std::current_exception(), context.who()));
    }
    PreparedJob job;
    try {
        job = prepare_for_all(context, job_file, overrides, options.retry);
    } catch (const Error& error) {
        if (context.session == nullptr) {
            throw;
        }
        return static_cast<int>(error.code());
    }
    try {
        if (job.output->complete() != nullptr) {
            return leave_complete(context, job, options);
        }
        keep_job(job);
        say_what_was_found(*job.output, job, options.quiet);
        context.monitor->open(run_folder_of(job.job), job.job.output.path);
        context.output = job.output.get();
        context.first_chunk = job.plan.first_chunk;
        context.board.mine().first_chunk.store(context.first_chunk);
        context.hangs.begin({.timeout = job.plan.hang_timeout,
                             .first_chunk = job.plan.first_chunk,
                             .hosts = context.hosts,
                             .dump_folder = job.plan.dump_folder});
        announce(context, {.plan = encode(job.plan)});
        RootRun run(context, job, options);
        RankTrace trace = run.run();
        RunReport report = make_report(context, job, run, std::move(trace));
        report.clock_error = clock_error;
        report.clock_rounds = context.session == nullptr ? 0 : clock_rounds;
        publish_report(report, job.job, options);
        if (run.stopped_by()) {
            context.last_words.note_end(run.stopped_by()->code, run.stopped_by()->text);
            print_once(context, run.stopped_by()->text);
            return static_cast<int>(run.stopped_by()->code);
        }
    } catch (...) {
        end_all(context, describe_root(std::current_exception(), context));
    }
    return static_cast<int>(ExitCode::ok);
}

}  // namespace sluice
