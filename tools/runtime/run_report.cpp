#include "tools/runtime/run_report.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "comm/root_time.hpp"
#include "core/chunk_grid.hpp"
#include "core/commit/run_identity.hpp"
#include "core/commit/run_paths.hpp"
#include "core/machine/provenance.hpp"
#include "core/process/standard_error.hpp"
#include "scheduler/trace_events.hpp"
#include "scheduler/verdict.hpp"
#include "tools/runtime/job_attempts.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/output_places.hpp"
#include "tools/runtime/program_facts.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

/// Fills in what is only known at the end.
void describe_this(AttemptSummary& attempt, const RunReport& report, std::optional<ExitCode> code) {
    const std::chrono::nanoseconds wall = wall_time(report.ranks);
    const auto now = std::chrono::system_clock::now();
    attempt.start = utc_text(now - wall);
    attempt.end = utc_text(now);
    attempt.seconds = wall;
    attempt.exit_code = code ? std::optional(static_cast<int>(*code)) : std::nullopt;
    attempt.ended_by = report.ended_by;
    attempt.items_done = report.items_done;
}

Provenance provenance_of(const CommittedOutput& output) {
    const ProgramFacts& program = program_facts();
    const RunIdentity identity = output.identity();
    const Owner& me = output.owner();
    std::vector<std::pair<std::string, std::string>> settings = identity.settings;
    std::erase_if(settings, [](const auto& setting) { return setting.first == input_digests; });  // long
    return {.version = std::string(program.version),
            .commit = std::string(program.commit),
            .compiler = std::string(program.compiler),
            .build = std::string(program.build),
            .mpi = mpi_library(),
            .cuda = std::string(program.cuda),
            .slurm_job = me.job.empty() ? std::nullopt : std::optional(me.job),
            .slurm_restarts = me.restarts,
            .fingerprint = fingerprint(identity),
            .identity = std::move(settings)};
}

RankReport report_of(const RankContext& context, const RankTrace& trace, GpuUses gpus, Instant common_start) {
    RankReport report = make_rank_report(trace, common_start, {});
    report.facts.cpu = cpu_model();
    report.facts.driver = nvidia_driver();
    report.facts.gpus = trace.gpus;
    report.facts.throttling = context.throttling.read();
    report.facts.gpu_uses = std::move(gpus);
    return report;
}

/// Aligns the clocks again and converts this rank's trace to rank 0's time.
RankClock in_root_time(MpiSession& session, RankTrace& trace, const ClockFacts& clocks) {
    const ClockOffset last = align_clock(session);
    const ClockBounds to_root = share_bounds(session, clocks.to_root);
    if (session.rank() == 0) {
        return {};
    }
    const RootTime time(clocks.first, last);
    const Causality causality = check_causality(time, to_root, clocks.from_root);
    const Milestones& at = trace.milestones;
    RankClock clock{.error = std::max(time.error_at(at.start), time.error_at(at.finish)),
                    .drift = time.drift(),
                    .messages = causality.messages,
                    .bound = causality.bound};
    if (causality.violation > clock.error) {
        clock.violation = causality.violation;
        clock.error += causality.violation;
    }
    retime(trace, time);
    return clock;
}

/// Measures the links to some ranks if rank 0's run took long.
std::vector<LinkSpeed> measure_links(MpiSession& session, std::chrono::nanoseconds run) {
    std::int64_t length = run.count();
    session.broadcast_number(length);
    return probe_links(session, peers_to_probe(session.size(), std::chrono::nanoseconds(length)));
}

void warn_of_report(const Error& error, const std::string& hint) {
    say({.id = "W-OUT-120",
         .where = error.text().where,
         .what = "the report is not there: " + error.text().what,
         .hint = hint});
}

/// Returns the path of the copy in the run's folder, empty with a warning if there is none.
std::filesystem::path warn_unless_kept(const std::string& text, const JobConfig::Output& output,
                                       std::uint32_t attempt) {
    try {
        return keep_report(run_paths(output.path, {}), attempt, text);
    } catch (const Error& error) {
        warn_of_report(error, "the results are not affected");
        return {};
    }
}

void warn_unless_placed(const std::string& text, const JobConfig::Output& output, const std::filesystem::path& kept) {
    try {
        place_report(text, output);
    } catch (const Error& error) {
        warn_of_report(error, kept.empty() ? "it is lost; the results are not affected"
                                           : "it is also in " + escaped(kept.native()));
    }
}

}  // namespace

RunReport report_of_run(const PreparedJob& prepared, const CommittedOutput& output, std::uint64_t items_done) {
    const JobPlan& plan = prepared.plan;
    const JobConfig& job = prepared.job;
    const ChunkGrid grid = estimated_grid(prepared);
    return {.items = grid.items(),
            .items_done = items_done,
            .items_before = grid.items_done(),
            .chunks = grid.chunks(),
            .chunk_items = plan.chunk_items,
            .mode = job.pipeline.mode,
            .distribution = job.pipeline.distribution,
            .device = plan.device,
            .precision = plan.precision,
            .device_note = prepared.device_note,
            .chunk_note = prepared.chunk_note,
            .input = prepared.source->reads(),
            .provenance = provenance_of(output),
            .output_path = job.output.path.string(),
            .report_path = job.output.report.string(),
            .failed_items = output.failed_items()};
}

RankTrace complete_trace(const RankContext& context, RankTrace trace) {
    trace.rank = context.rank();
    trace.host = context.host;
    trace.milestones.start = context.start;
    trace.milestones.finish = Clock::now();
    std::ranges::copy(context.phases.spans(), std::back_inserter(trace.phases));
    trace.suspended = context.hangs.suspensions(trace.milestones.finish);
    return trace;
}

/// The parts of a trace that all ranks have told; rank 0 only.
std::vector<std::string> gather_events(const RankContext& context, const RankTrace& trace) {
    const auto ranks = static_cast<std::size_t>(context.session == nullptr ? 1 : context.session->size());
    const auto begins = [](const PhaseSpan& phase) { return phase.time.begin; };
    const auto first = std::ranges::min_element(trace.phases, {}, begins);
    const Instant mine =
        std::min(trace.milestones.start, first == trace.phases.end() ? Instant::max() : begins(*first));
    if (context.session == nullptr) {
        return {trace_events(trace, mine, most_spans_of_rank(ranks))};
    }
    const Instant origin(Instant::duration(context.session->least(mine.time_since_epoch().count())));
    return context.session->gather(trace_events(trace, origin, most_spans_of_rank(ranks)));
}

CommonEnd end_together(const RankContext& context, RankTrace trace, GpuUses gpus, const ClockFacts& clocks,
                       bool wants_trace, ExitCode code) {
    trace.usage.push_back(usage_of_this_thread("comm", context.start));
    if (context.session == nullptr) {
        CommonEnd end{.code = static_cast<int>(code)};
        end.reports.push_back(report_of(context, trace, std::move(gpus), context.start));
        if (wants_trace) {
            end.trace_events = gather_events(context, trace);
        }
        return end;
    }
    std::int64_t common_start = context.start.time_since_epoch().count();
    context.session->broadcast_number(common_start);
    auto common_code = static_cast<std::int64_t>(code);
    context.session->broadcast_number(common_code);
    CommonEnd end{.code = static_cast<int>(common_code)};
    if (end.code == static_cast<int>(ExitCode::ok)) {
        end.links = measure_links(*context.session, Clock::now() - context.start);
    }
    const RankClock clock = in_root_time(*context.session, trace, clocks);
    RankReport mine = report_of(context, trace, std::move(gpus), Instant(Instant::duration(common_start)));
    mine.clock = clock;
    for (const std::string& text : context.session->gather(encode(mine))) {
        end.reports.push_back(decode_rank_report(text));
    }
    if (wants_trace) {
        end.trace_events = gather_events(context, trace);
    }
    return end;
}

void publish_trace(std::vector<std::string> events, const PreparedJob& job, std::uint32_t attempt) {
    const ProgramFacts& program = program_facts();
    const std::vector<std::pair<std::string, std::string>> facts{
        {"version", std::string(program.version)},
        {"commit", std::string(program.commit)},
        {"app", job.job.app},
        {"output", escaped(job.job.output.path.native())},
        {"attempt", std::to_string(attempt)},
        {"written", utc_text(std::chrono::system_clock::now())}};
    std::vector<std::string> parts{TraceFile::begin(facts)};
    for (std::string& part : events) {
        if (parts.size() > 1) {
            parts.emplace_back(TraceFile::between);
        }
        parts.push_back(std::move(part));
    }
    parts.emplace_back(TraceFile::end);
    try {
        place_trace(parts, job.job.output);
    } catch (const Error& error) {
        say({.id = "W-OUT-190",
             .where = error.text().where,
             .what = "the trace is not there: " + error.text().what,
             .hint = "the results are not affected"});
    }
}

void publish_report(RunReport report, const PreparedJob& prepared, const RunOptions& options, const ReportedEnd& end) {
    const JobConfig& job = prepared.job;
    describe_this(report.attempts.back(), report, end.code);
    report.provenance.date = report.attempts.back().start;
    const std::string text = report_file_text(report, nlohmann::json::parse(to_json_text(job)));
    std::filesystem::path kept;
    if (end.is_kept) {
        kept = warn_unless_kept(text, job.output, report.attempts.back().number);
    }
    warn_unless_placed(text, job.output, kept);
    if (!options.quiet) {
        const TableForm form = options.full_table ? TableForm::full : TableForm::brief;
        print(latency_table(report, form));
    }
}

}  // namespace sluice
