#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/job_end.hpp"
#include "core/commit/attempt_folder.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "core/commit/run_paths.hpp"
#include "core/device/cuda.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/verdict.hpp"
#include "slurm/run_files.hpp"
#include "slurm/stop_reason.hpp"
#include "tools/runtime/choose_instructions.hpp"
#include "tools/runtime/compute_peak.hpp"
#include "tools/runtime/cost_cache.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/job_file.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/job_server.hpp"
#include "tools/runtime/preflight.hpp"
#include "tools/runtime/prepare_rank.hpp"
#include "tools/runtime/run_end.hpp"
#include "tools/runtime/run_rank.hpp"
#include "tools/runtime/run_report.hpp"
#include "tools/runtime/standard_output.hpp"
#include "tools/runtime/tune.hpp"

namespace sluice {
namespace {

/// Ends of earlier attempts, unless this one is to ignore them, which a submission requests once.
std::vector<Attempt> look_back(const JobConfig::Output& to, const CommittedOutput& output, const RunOptions& options) {
    const std::filesystem::path request = RunFiles{.run_folder = options.run_folder}.retry_request();
    const bool is_asked = !options.run_folder.empty() && status_of(request);
    std::vector<Attempt> attempts = look_at_attempts(to, output, options.retry || is_asked);
    if (is_asked) {
        remove_file(request);
    }
    return attempts;
}

/// What `prepare` returns; its Error is printed and sent to all other ranks before it is thrown: the launcher may end
/// this rank as soon as one of them exits.
template <class Prepare>
auto prepare_for_all(const Root& root, Prepare prepare) {
    const RankContext& context = root.context;
    try {
        return prepare();
    } catch (...) {
        const Failure failure = describe(std::current_exception(), "");
        const Ending ending =
            decide_end({.cause = EndCause::unprepared, .code = failure.code, .is_alone = context.session == nullptr});
        context.shutdown_hook.note_end(ending.code, failure.text);
        if (ending.is_said) {
            explain_end(root, failure.text);
        }
        static_cast<void>(announce(context, {.code = static_cast<int>(ending.code)}));
        throw Error(failure.code, failure.text);
    }
}

/// What `step` returns; if it fails, all ranks end.
template <class Step>
auto or_end_all(const Root& root, const EndReach& reach, Step step) {
    try {
        return step();
    } catch (...) {
        fail(root, reach, std::current_exception());
    }
}

/// Of the run in `run_folder`, apart from earlier attempts of this job.
RunUse use_of(const std::filesystem::path& run_folder) {
    const AttemptId attempt = this_attempt();
    const std::optional<RunPaths> paths = find_run(run_folder);
    return paths && glimpse_newest_owner(*paths, this_process(attempt.job, attempt.restarts)) ? RunUse::taken
                                                                                              : RunUse::free;
}

Meeting begin(const Root& root, const RunOptions& options) {
    if (!options.run_folder.empty()) {
        root.monitor.prepare_in(options.run_folder, use_of(options.run_folder));
    }
    return meet_ranks(root.context);
}

JobConfig read_checked_job(const RankContext& context, const std::function<JobFile()>& job_file) {
    const PhaseTimer timer(context.phases, Phase::job);
    JobConfig config = read_job(job_file(), context.apps);
    check_before_reading(context, config);
    return config;
}

/// All ranks start their GPUs at rank 0's announcement.
GpuStart start_gpus_of_all(const RankContext& context, const GpuWish& wish) {
    static_cast<void>(announce(context, {.wish = wish}));
    return start_gpus(context, wish);
}

/// The job as these ranks do it.
PreparedJob prepare_job_of(const RankContext& context, const Meeting& meeting, const GpuStart& gpus, JobConfig config) {
    PreparedJob job = prepare_job(std::move(config), context.apps, context.phases);
    job.plan.instructions = choose_instructions(job, meeting.instructions, meeting.hosts);
    const PhaseTimer timer(context.phases, Phase::tuning);
    if (job.plan.device == DeviceKind::cuda) {
        tune(job, expected_gpus(context, gpu_wish(job.job), gpus));
    }
    take_count(job);
    return job;
}

/// nullopt: the output is complete.
std::optional<OpenAttempt> open_attempt(const RankContext& context, const PreparedJob& job, const RunOptions& options) {
    const PhaseTimer timer(context.phases, Phase::output);
    const JobConfig::Output& to = job.job.output;
    std::unique_ptr<CommittedOutput> output = open_output(job, context.board);
    if (output->complete() != nullptr) {
        return std::nullopt;
    }
    try {
        std::filesystem::path folder = attempt_folder(to, *output);
        leave_notes_in(context, folder);
        std::vector<AttemptSummary> summaries = attempts_at(to, *output);
        std::vector<Attempt> earlier = look_back(to, *output, options);
        return OpenAttempt{.output = std::move(output),
                           .folder = std::move(folder),
                           .summaries = std::move(summaries),
                           .earlier = std::move(earlier)};
    } catch (...) {
        output->give_up(std::current_exception());
        throw;
    }
}

/// `plan` from where the attempt begins.
JobPlan plan_of(JobPlan plan, const OpenAttempt& attempt, const std::string& root_host) {
    plan.first_chunk = attempt.output->first_chunk();
    plan.dump_folder = attempt.folder.native();
    plan.root_host = root_host;
    return plan;
}

int leave_complete(const Root& root, const PreparedJob& job, const RunOptions& options) {
    static_cast<void>(announce(root.context, {.complete = true}));
    root.monitor.found_complete(job.plan.grid());
    if (!options.quiet) {
        print(already_complete(job.job.output.path, job.plan.items));
    }
    return static_cast<int>(ExitCode::ok);
}

/// After a run of length `wall`, for rank 0's first device, whose memory the run has freed.
Roofline roofline_of(const PreparedJob& job, std::uint32_t device_number, std::chrono::nanoseconds wall) {
    constexpr std::chrono::seconds long_run{10};  // a measurement is 1 % of it, on a GPU 5 %, once
    const bool host = job.plan.device == DeviceKind::host;
    const ProductWork work =
        host ? ProductWork{.precision = job.plan.precision} : job.app->product_work(job.plan.precision);
    Roofline roofline{.flop_per_item = job.flop_per_item, .precision = work.precision, .products = work.products};
    if (work.precision == Precision::fp8) {
        roofline.note = "there is no one limit for products of which some are in bf16";
        return roofline;
    }
    set_peak(roofline, {.file = cost_cache_file(),
                        .key = host ? key_of_host_peak(job.plan.instructions)
                                    : key_of_gpu_peak(cuda_device_kind(device_number), work.precision),
                        .products = work.products,
                        .may_measure = wall >= long_run,
                        .measure = [&] {
                            return measure_peak(*make_device(job.plan.device, device_number), job.plan.device,
                                                work.precision);
                        }});
    return roofline;
}

/// The report of a run of which all ranks have told their part.
RunReport whole_report(const PreparedJob& job, const PreparedRank& rank, const JobServer& server, CommonEnd end) {
    RunReport report = server.report();
    report.ranks = std::move(end.reports);
    count_receipts(report.ranks, report.links);
    for (const LinkSpeed& speed : end.links) {
        report.links.at(static_cast<std::size_t>(speed.to) - 1).peak = speed.bytes_per_second;
    }
    report.roofline =
        roofline_of(job, device_number(rank.share.place.devices, rank.share.gpus, 0), wall_time(report.ranks));
    report.clock_rounds = report.ranks.size() > 1 ? clock_rounds : 0;
    return report;
}

/// For later attempts.
void note_size(const OpenAttempt& attempt, const PreparedRank& rank) {
    try {
        note_begin(attempt.folder, static_cast<std::uint32_t>(rank.devices.size()), rank.total_devices());
    } catch (const Error& error) {
        throw while_running(error);
    }
}

/// The run that all ranks share, from the plan to the report.
int serve_job(const Root& root, const Meeting& meeting, PreparedJob& job, const OpenAttempt& attempt, GpuStart gpus,
              const RunOptions& options) {
    const RankContext& context = root.context;
    keep_job(job);
    say_what_was_found(*attempt.output, job, options.quiet);
    root.monitor.open(run_paths(job.job.output.path, {}).run_folder(), job.job.output.path);
    static_cast<void>(announce(context, {.plan = job.plan}));
    PreparedRank rank =
        prepare_rank(context, job.plan, meeting, std::move(gpus), std::move(job.weights), job.source.get());
    note_size(attempt, rank);
    JobServer server(root, job, attempt, meeting, rank, options);
    RankTrace served = server.run();
    if (const std::optional<Interval> index = job.source->indexed_beside()) {
        context.phases.add(Phase::index, *index);
    }
    RankTrace trace = complete_trace(context, std::move(served));
    const std::optional<Failure>& stopped = server.stopped_by();
    const ExitCode code = stopped ? stopped->code : ExitCode::ok;
    CommonEnd end = end_together(context, std::move(trace), rank.gpu_sampler->finish(),
                                 {.to_root = server.clock_bounds()}, job.plan.wants_trace, code);
    std::vector<std::string> events = std::move(end.trace_events);
    publish_report(
        whole_report(job, rank, server, std::move(end)), job, options,
        {.code = code, .is_kept = attempt.output->complete() != nullptr || context.board.committed().chunks != 0});
    if (job.plan.wants_trace) {  // after the report, whose dates count back from now: it may take seconds
        publish_trace(std::move(events), job, attempt.summaries.back().number);
    }
    if (stopped) {
        context.shutdown_hook.note_end(stopped->code, stopped->text);
        explain_end(root, stopped->text);
    }
    return static_cast<int>(code);
}

}  // namespace

int run_root(const RankContext& context, RunMonitor& monitor, const std::function<JobFile()>& job_file,
             const RunOptions& options) {
    const Root root{.context = context, .monitor = monitor};
    const Meeting meeting = or_end_all(root, {}, [&] { return begin(root, options); });
    try {
        JobConfig config = prepare_for_all(root, [&] { return read_checked_job(context, job_file); });
        GpuStart gpus = or_end_all(root, {}, [&] { return start_gpus_of_all(context, gpu_wish(config)); });
        PreparedJob job =
            prepare_for_all(root, [&] { return prepare_job_of(context, meeting, gpus, std::move(config)); });
        const std::optional<OpenAttempt> attempt =
            prepare_for_all(root, [&] { return open_attempt(context, job, options); });
        if (!attempt) {
            return or_end_all(root, {}, [&] { return leave_complete(root, job, options); });
        }
        return or_end_all(root, {.output = attempt->output.get()}, [&] {
            take_count(job);
            job.plan = plan_of(std::move(job.plan), *attempt, context.host);
            return serve_job(root, meeting, job, *attempt, std::move(gpus), options);
        });
    } catch (const Error& error) {  // of a job that cannot be prepared, which all ranks know
        if (context.session == nullptr) {
            throw;
        }
        return static_cast<int>(error.code());
    }
}

}  // namespace sluice
