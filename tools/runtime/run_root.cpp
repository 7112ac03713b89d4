#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "comm/clock_alignment.hpp"
#include "core/commit/file.hpp"
#include "core/commit/run_paths.hpp"
#include "core/machine/build_id.hpp"
#include "slurm/batch_script.hpp"
#include "tools/runtime/job_file.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/job_server.hpp"
#include "tools/runtime/preflight.hpp"
#include "tools/runtime/rank_context.hpp"
#include "tools/runtime/run_end.hpp"
#include "tools/runtime/run_report.hpp"
#include "tools/runtime/standard_output.hpp"
#include "tools/runtime/tune.hpp"

namespace sluice {
namespace {

/// Takes what stands before the first space, and the space.
std::string take_word(std::string& text) {
    std::string word = text.substr(0, text.find(' '));
    text.erase(0, word.size() + 1);
    return word;
}

/// Notes the ranks' hosts and their instructions.
void refuse_other_builds(RankContext& context) {
    const std::string mine = build_id();
    std::vector<std::string> greetings = context.session->gather(greeting(context));
    context.hosts.clear();
    for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
        std::string& rest = greetings[rank];
        const std::string build = take_word(rest);
        const std::optional<HostInstructions> instructions = find_host_instructions(take_word(rest));
        context.instructions.push_back(instructions.value_or(HostInstructions::sse41));
        context.hosts.push_back(rest);
        if (build != mine) {
            throw Error(ExitCode::configuration,
                        {.id = "E-MPI-070",
                         .where = fmt::format("rank {}", rank),
                         .what = fmt::format("runs build {} of sluice, rank 0 runs {}", escaped(build), mine),
                         .hint = "start the same binary on every node"});
        }
    }
}

/// The ranks agree on a build and on the time. Returns the worst error of their clocks.
std::chrono::nanoseconds meet_other_ranks(RankContext& context) {
    if (context.session == nullptr) {
        context.hosts = {context.host};
        context.instructions = {host_instructions()};
        return {};
    }
    refuse_other_builds(context);
    return align_clock(*context.session).error;
}

/// What became of earlier attempts, unless this one is to forget them, which a submission asks for once.
std::vector<Attempt> look_back(const PreparedJob& job, const RunOptions& options) {
    const std::filesystem::path request = ScriptPaths{.run_folder = options.run_folder}.retry_request();
    const bool is_asked = !options.run_folder.empty() && status_of(request);
    std::vector<Attempt> attempts = look_at_attempts(job, options.retry || is_asked);
    if (is_asked) {
        remove_file(request);
    }
    return attempts;
}

/// A new run computes by what all ranks have, and one that goes on by what it has begun with.
void choose_instructions(const RankContext& context, PreparedJob& job) {
    if (job.plan.device != DeviceKind::host) {
        return;
    }
    const auto least = std::ranges::min_element(context.instructions);
    const std::optional<HostInstructions> begun_with = instructions_of_run(job.job.output);
    job.plan.instructions = begun_with.value_or(*least);
    if (*least >= job.plan.instructions || is_published(job.job.output)) {
        return;
    }
    const auto rank = static_cast<std::size_t>(least - context.instructions.begin());
    throw Error(
        ExitCode::configuration,
        {.id = "E-CKP-091",
         .where = escaped(job.job.output.path.native()),
         .what = fmt::format("the run there was begun with {} instructions, but {} has {}: sums would differ in their "
                             "last digits",
                             name_of(job.plan.instructions), escaped(context.hosts[rank]), name_of(*least)),
         .hint = fmt::format("resume where every host has them and DNNL_MAX_CPU_ISA is not set, or start over with "
                             "DNNL_MAX_CPU_ISA={}",
                             variable_name_of(*least))});
}

/// The job, ready to run; or its Error, which is said and known to all other ranks by then: the launcher may end this
/// rank as soon as one of them leaves.
PreparedJob prepare_for_all(RankContext& context, const std::function<JobFile()>& job_file, const RunOptions& options) {
    try {
        const JobFile file = job_file();
        check_before_reading(context, read_job(file, context.apps));
        PreparedJob job = prepare_job(file, context.apps, context.session == nullptr);
        choose_instructions(context, job);
        if (!job.kept_chunk_items) {
            tune(job);
        }
        job.output = open_output(job, context.board);
        if (job.output->complete() == nullptr) {
            if (job.kept_chunk_items) {  // the depth is still open
                tune(job);
            }
            job.plan.first_chunk = job.output->first_chunk();
            job.plan.dump_folder = epoch_folder(job).native();
            leave_notes_in(context, job.plan.dump_folder);
            job.summaries = attempts_at(job);
            job.attempts = look_back(job, options);
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
        print(already_complete(job.job.output.path, job.plan.items));
    }
    return static_cast<int>(ExitCode::ok);
}

}  // namespace

int run_root(RankContext& context, const std::function<JobFile()>& job_file, const RunOptions& options) {
    std::chrono::nanoseconds clock_error{0};
    try {
        if (!options.run_folder.empty()) {
            context.monitor->open(options.run_folder, {});
        }
        clock_error = meet_other_ranks(context);
    } catch (...) {
        end_all(context, describe(std::current_exception(), context.who()));
    }
    PreparedJob job;
    try {
        job = prepare_for_all(context, job_file, options);
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
        context.output = job.output.get();
        keep_job(job);
        say_what_was_found(*job.output, job, options.quiet);
        context.monitor->open(run_folder_of(job.job), job.job.output.path);
        context.first_chunk = job.plan.first_chunk;
        context.board.mine().first_chunk.store(context.first_chunk);
        context.hangs.begin({.timeout = job.plan.hang_timeout,
                             .first_chunk = job.plan.first_chunk,
                             .hosts = context.hosts,
                             .dump_folder = job.plan.dump_folder});
        job.plan.root_host = context.host;
        announce(context, {.plan = encode(job.plan)});
        JobServer server(context, job, options);
        RankTrace trace = server.run();
        const std::optional<Failure>& stopped = server.stopped_by();
        RunReport report = gather_report(context, job, server.items_written(), std::move(trace),
                                         stopped ? stopped->code : ExitCode::ok);
        report.clock_error = clock_error;
        report.clock_rounds = report.ranks.size() > 1 ? clock_rounds : 0;
        publish_report(std::move(report), job, options,
                       {.code = stopped ? stopped->code : ExitCode::ok,
                        .is_kept = job.output->complete() != nullptr || context.board.committed().chunks != 0});
        if (stopped) {
            context.last_words.note_end(stopped->code, stopped->text);
            print_once(context, stopped->text);
            return static_cast<int>(stopped->code);
        }
    } catch (...) {
        end_all(context, describe_at_root(std::current_exception(), context));
    }
    return static_cast<int>(ExitCode::ok);
}

}  // namespace sluice
