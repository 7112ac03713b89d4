#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/job_end.hpp"
#include "core/commit/file.hpp"
#include "core/commit/run_paths.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/verdict.hpp"
#include "slurm/run_files.hpp"
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
std::vector<Attempt> look_back(const PreparedJob& job, const RunOptions& options) {
    const std::filesystem::path request = RunFiles{.run_folder = options.run_folder}.retry_request();
    const bool is_asked = !options.run_folder.empty() && status_of(request);
    std::vector<Attempt> attempts = look_at_attempts(job, options.retry || is_asked);
    if (is_asked) {
        remove_file(request);
    }
    return attempts;
}

/// A new run uses instructions that all ranks support, a continued one those that it began with.
void choose_instructions(const Meeting& meeting, PreparedJob& job) {
    if (job.plan.device != DeviceKind::host) {
        return;
    }
    const auto least = std::ranges::min_element(meeting.instructions);
    job.plan.instructions = job.begun_with.instructions.value_or(*least);
    if (*least >= job.plan.instructions || is_published(job.job.output)) {
        return;
    }
    const auto rank = static_cast<std::size_t>(least - meeting.instructions.begin());
    throw Error(
        ExitCode::configuration,
        {.id = "E-CKP-091",
         .where = escaped(job.job.output.path.native()),
         .what = fmt::format("the run there was begun with {} instructions, but {} has {}: sums would differ in their "
                             "last digits",
                             name_of(job.plan.instructions), escaped(meeting.hosts[rank]), name_of(*least)),
         .hint = fmt::format("resume where every host has them and DNNL_MAX_CPU_ISA is not set, or start over with "
                             "DNNL_MAX_CPU_ISA={}",
                             variable_name_of(*least))});
}

/// Calls `prepare`; its Error is printed and sent to all other ranks before it is thrown: the launcher may end this
/// rank as soon as one of them exits.
void prepare_for_all(const Root& root, const std::function<void()>& prepare) {
    const RankContext& context = root.context;
    try {
        prepare();
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

/// All ranks start their GPUs at rank 0's announcement.
GpuStart start_gpus_of_all(const Root& root, const GpuWish& wish) {
    try {
        static_cast<void>(announce(root.context, {.wish = wish}));
        return start_gpus(root.context, wish);
    } catch (...) {
        fail(root, std::current_exception());
    }
}

JobConfig read_job_for_all(const Root& root, const std::function<JobFile()>& job_file) {
    JobConfig config;
    prepare_for_all(root, [&] {
        const PhaseTimer timer(root.context.phases, Phase::job);
        config = read_job(job_file(), root.context.apps);
        check_before_reading(root.context, config);
    });
    return config;
}

/// The job, ready to run.
PreparedJob prepare_job_for_all(const Root& root, const Meeting& meeting, const GpuStart& gpus, JobConfig config,
                                const RunOptions& options) {
    const RankContext& context = root.context;
    PreparedJob job;  // holds the folder that a failure is recorded in
    prepare_for_all(root, [&] {
        job = prepare_job(std::move(config), context.apps, context.phases);
        choose_instructions(meeting, job);
        PhaseTimer tuning(context.phases, Phase::tuning);
        if (job.plan.device == DeviceKind::cuda) {
            tune(job, expected_gpus(context, gpu_wish(job.job), gpus));
        }
        tuning.stop();
        const PhaseTimer output(context.phases, Phase::output);
        job.output = open_output(job, context.board);
        if (job.output->complete() == nullptr) {
            job.plan.first_chunk = job.output->first_chunk();
            job.plan.dump_folder = attempt_folder(job).native();
            job.plan.root_host = context.host;
            job.notes = leave_notes_in(context, job.plan.dump_folder);
            job.summaries = attempts_at(job);
            job.attempts = look_back(job, options);
        }
    });
    return job;
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
    const ProductWork work = host ? ProductWork{} : job.app->product_work(job.plan.precision);
    Roofline roofline{.flop_per_item = job.flop_per_item, .precision = work.precision, .products = work.products};
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
    RunReport report = report_of_run(job, server.items_written());
    report.queues = rank.queues;
    report.encoders = server.encoders();
    report.ranks = std::move(end.reports);
    report.links = server.links();
    count_receipts(report.ranks, report.links);
    for (const LinkSpeed& speed : end.links) {
        report.links.at(static_cast<std::size_t>(speed.to) - 1).peak = speed.bytes_per_second;
    }
    report.roofline = roofline_of(job, rank.share.place.devices.front().number, wall_time(report.ranks));
    report.clock_rounds = report.ranks.size() > 1 ? clock_rounds : 0;
    return report;
}

/// The run that all ranks share, from the plan to the report.
int serve_job(const Root& root, const Meeting& meeting, PreparedJob& job, GpuStart gpus, const RunOptions& options) {
    const RankContext& context = root.context;
    keep_job(job);
    say_what_was_found(*job.output, job, options.quiet);
    root.monitor.open(run_paths(job.job.output.path, {}).run_folder(), job.job.output.path);
    static_cast<void>(announce(context, {.plan = job.plan}));
    PreparedRank rank =
        prepare_rank(context, job.plan, meeting, std::move(gpus), std::move(job.weights), job.source.get());
    check_memory(context, job.plan, rank);
    JobServer server(root, job, meeting, rank, options);
    RankTrace trace = complete_trace(context, server.run());
    const std::optional<Failure>& stopped = server.stopped_by();
    const ExitCode code = stopped ? stopped->code : ExitCode::ok;
    CommonEnd end =
        end_together(context, std::move(trace), rank.gpu_sampler->finish(), {.to_root = server.clock_bounds()}, code);
    publish_report(
        whole_report(job, rank, server, std::move(end)), job, options,
        {.code = code, .is_kept = job.output->complete() != nullptr || context.board.committed().chunks != 0});
    if (stopped) {
        context.shutdown_hook.note_end(stopped->code, stopped->text);
        explain_end(root, stopped->text);
    }
    return static_cast<int>(code);
}

}  // namespace

int run_root(const RankContext& context, RunMonitor& monitor, const std::function<JobFile()>& job_file,
             const RunOptions& options) {
    Root root{.context = context, .monitor = monitor};
    Meeting meeting;
    try {
        if (!options.run_folder.empty()) {
            monitor.open(options.run_folder, {});
        }
        meeting = meet_ranks(context);
    } catch (...) {
        fail(root, std::current_exception());
    }
    GpuStart gpus;
    PreparedJob job;
    try {
        JobConfig config = read_job_for_all(root, job_file);
        gpus = start_gpus_of_all(root, gpu_wish(config));
        job = prepare_job_for_all(root, meeting, gpus, std::move(config), options);
    } catch (const Error& error) {
        if (context.session == nullptr) {
            throw;
        }
        return static_cast<int>(error.code());
    }
    try {
        if (job.output->complete() != nullptr) {
            return leave_complete(root, job, options);
        }
        root.output = job.output.get();
        return serve_job(root, meeting, job, std::move(gpus), options);
    } catch (...) {
        fail(root, std::current_exception());
    }
}

}  // namespace sluice
