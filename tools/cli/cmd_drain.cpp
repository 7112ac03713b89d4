#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/machine/provenance.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/program_name.hpp"
#include "slurm/child.hpp"
#include "slurm/queue.hpp"
#include "slurm/run_files.hpp"
#include "slurm/run_status.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds patience{60};

[[noreturn]] void refuse_idle(const std::filesystem::path& folder, std::string what) {
    throw Error(ExitCode::no_input, {.id = "E-SLM-117",
                                     .where = escaped(folder.native()),
                                     .what = std::move(what),
                                     .hint = fmt::format("`{} status` shows what is known about it", program_name())});
}

/// Whether a job for the run is pending or running; true if Slurm does not answer.
bool may_be_queued(const Submission& submission) {
    try {
        const std::optional<QueuedJob> job = find_in_queue(submission);
        return job && job->is_active();
    } catch (const Error& error) {
        say(fmt::format("sluice: cannot find out whether job {} is pending or running ({}: {})\n", submission.job,
                        error.text().where, error.text().what));
        return true;
    }
}

/// A request that no process would read is refused.
void refuse_where_nothing_runs(const RunPaths& paths) {
    const RunFiles files{paths.run_folder()};
    if (status_of(paths.manifest())) {
        refuse_idle(files.run_folder, "nothing to drain: the run is complete");
    }
    const std::optional<RunStatus> status = read_run_status(files.status());
    const std::optional<Owner> owner = newest_owner(paths);
    if (status && !status->end && !(owner && has_ended(*owner, this_process({}, 0)))) {
        return;
    }
    const std::optional<Submission> submission = read_submission(files.submission());
    if (submission && may_be_queued(*submission)) {
        return;
    }
    refuse_idle(files.run_folder,
                !status ? "nothing to drain: no attempt is known to run"
                : !status->end
                    ? fmt::format("nothing to drain: {} is gone", describe(*owner))
                    : fmt::format("nothing to drain: the last attempt has ended with exit code {}", status->end->code));
}

int drain_run(const ParsedArguments& parsed) {
    const NamedRun run = named_run(operand_of(parsed, "run"), parsed.apps);
    refuse_where_nothing_runs(run.paths);
    std::optional<File> request = File::create_if_absent(RunFiles{run.paths.run_folder()}.drain_request());
    if (request) {
        request->close();
    }
    print(fmt::format("drain requested; `{} status` shows when it is done\n", program_name()));
    return 0;
}

bool cancel_job(const Submission& submission) {
    const std::optional<QueuedJob> job = find_in_queue(submission);
    if (!job || !job->is_active()) {
        return false;
    }
    std::vector<std::string> words{"scancel", submission.job};
    if (!submission.cluster.empty()) {
        words.push_back("--clusters=" + submission.cluster);
    }
    const std::optional<ChildResult> result = run_child(words, patience);
    if (!result || result->exit_code != 0) {
        throw no_answer("scancel", result, patience);
    }
    print(fmt::format("cancelled job {}\n", submission.job));
    return true;
}

/// Returns false if the run's newest process is on another host or has ended.
bool stop_process(const RunPaths& paths) {
    const std::optional<Owner> owner = newest_owner(paths);
    const Owner me = this_process({}, 0);
    if (!owner || !is_here(*owner, me) || has_ended(*owner, me)) {
        return false;
    }
    if (::kill(static_cast<pid_t>(owner->process), SIGTERM) != 0) {
        refuse_idle(paths.run_folder(),
                    fmt::format("cannot signal process {}: {}", owner->process, system_text(errno)));
    }
    print(fmt::format("sent SIGTERM to process {}\n", owner->process));
    return true;
}

/// Why the process that wrote `status`, without an end, cannot be ended from here.
std::string out_of_reach(const RunStatus& status) {
    if (!status.job.empty()) {
        const std::string job = escaped(status.job);
        const std::optional<QueuedJob> queued = find_in_queue({.job = status.job});
        return queued && queued->is_active()
                   ? fmt::format("job {0} works on it, which `{1} submit` has not submitted: scancel {0}", job,
                                 program_name())
                   : fmt::format("its last attempt belonged to job {}, which has ended", job);
    }
    return status.host != host_name()
               ? fmt::format("process {} on {} works on it, not one on this host", status.process, escaped(status.host))
               : fmt::format("its process {} is gone, or cannot be seen from here", status.process);
}

int cancel_run(const ParsedArguments& parsed) {
    const NamedRun run = named_run(operand_of(parsed, "run"), parsed.apps);
    const RunFiles files{run.paths.run_folder()};
    const std::optional<RunStatus> status = read_run_status(files.status());
    const bool is_running = status && !status->end;
    const bool is_stopped =
        is_running && status->job.empty() && stop_process(run.paths);  // whether or not Slurm answers
    const std::optional<Submission> submission = read_submission(files.submission());
    if ((submission && cancel_job(*submission)) || is_stopped) {
        return 0;
    }
    if (!is_running) {
        refuse_idle(files.run_folder, "no attempt is running");
    }
    if (!stop_process(run.paths)) {
        refuse_idle(files.run_folder, out_of_reach(*status));
    }
    return 0;
}

}  // namespace

const Command drain_command{
    .name = "drain",
    .synopsis = "RUN",
    .summary = "ask a run to finish its chunks in flight, and to stop",
    .details =
        "RUN is as for `{program} status`. The run looks for the request once a second. It ends with exit\n"
        "code 75, its job is not requeued, and `{program} submit` or `{program} run` resumes it later.",
    .exit_codes =
        "  0   asked                     66  there is no such run, or nothing to drain\n"
        "  64  wrong command line        69  a job's number, but no Slurm to ask\n"
        "  73  cannot write to the run's folder\n"
        "  77  another user's run        78  wrong job file",
    .example = "  {program} drain labels.csv",
    .most_operands = 1,
    .run = drain_run,
};

const Command cancel_command{
    .name = "cancel",
    .synopsis = "RUN",
    .summary = "end a run: its Slurm job, or its process on this host",
    .details = "RUN is as for `{program} status`. What the run has committed stays; `{program} drain` loses nothing.",
    .exit_codes =
        "  0   cancelled                 66  there is no such run, or nothing to cancel\n"
        "  64  wrong command line        69  Slurm does not answer\n"
        "  77  another user's run        78  wrong job file",
    .example = "  {program} cancel labels.csv",
    .most_operands = 1,
    .run = cancel_run,
};

}  // namespace sluice
