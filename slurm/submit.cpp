#include "slurm/submit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/commit/file.hpp"
#include "core/commit/run_folder.hpp"
#include "core/config/slurm_option.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/program_name.hpp"
#include "slurm/child.hpp"
#include "slurm/queue.hpp"

namespace sluice {
namespace {

// A busy controller is slow, and a killed sbatch may have succeeded.
constexpr std::chrono::seconds submit_patience{120};

/// Held by one `sluice submit` of an output at a time, until it ends or is killed. Where the file system knows no
/// locks, by all.
Descriptor lock_submission(const ScriptPaths& paths) {
    Descriptor lock;
    if (const int error = FilePlace::entry(paths.lock()).open(O_RDWR | O_CREAT | O_NOFOLLOW, lock); error != 0) {
        fail_on_file(paths.lock(), "open", error);
    }
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        throw Error(ExitCode::in_use,
                    {.id = "E-OUT-079",
                     .where = escaped(paths.run_folder.native()),
                     .what = fmt::format("another `{} submit` is submitting a job for it", program_name()),
                     .hint = fmt::format("wait for it: `{} status` shows its job", program_name())});
    }
    return lock;
}

void refuse_second_job(const ScriptPaths& paths) {
    const std::optional<Submission> earlier = read_submission(paths.submission());
    if (!earlier) {
        return;
    }
    const std::optional<QueuedJob> job = find_in_queue(*earlier);
    if (job && job->is_active()) {
        throw Error(ExitCode::in_use,
                    {.id = "E-OUT-079",
                     .where = escaped(paths.run_folder.native()),
                     .what = fmt::format("job {}, {}, was already submitted for it", earlier->job, job->text()),
                     .hint = fmt::format("wait for it, or `{} cancel {}`", program_name(),
                                         escaped(paths.run_folder.native()))});
    }
}

std::vector<std::string> sbatch_words(const std::vector<std::string>& first, const std::vector<std::string>& more,
                                      const std::filesystem::path& script) {
    std::vector<std::string> words{"sbatch"};
    words.insert(words.end(), first.begin(), first.end());
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(script.native());
    return words;
}

ChildResult call_sbatch(const std::vector<std::string>& words) {
    const std::optional<ChildResult> result = run_child(words, submit_patience);
    if (!result) {
        throw Error(ExitCode::unavailable, {.id = "E-SLM-075",
                                            .where = "sbatch",
                                            .what = fmt::format("did not answer within {} s", submit_patience.count()),
                                            .hint = "`squeue --me` shows whether it accepted the job anyway"});
    }
    return *result;
}

/// By a signal, or a shell script around it.
bool was_killed(const ChildResult& result) {
    constexpr int by_signal = 128;
    constexpr int highest_signal = 64;
    return result.exit_code > by_signal && result.exit_code <= by_signal + highest_signal;
}

/// sbatch has waited for the answer in vain, or did not live to tell it: the controller may have accepted the job.
bool is_answer_lost(const ChildResult& result) {
    return was_killed(result) || (result.exit_code != 0 && (result.err.find("ocket timed out") != std::string::npos ||
                                                            result.err.find("Zero Bytes") != std::string::npos ||
                                                            result.err.find("receive failure") != std::string::npos));
}

void check_acceptance(const ChildResult& result) {
    if (is_answer_lost(result)) {
        const std::string how = was_killed(result) ? fmt::format("was killed (exit code {})", result.exit_code)
                                                   : "got no answer from Slurm's controller";
        throw Error(ExitCode::unavailable, {.id = "E-SLM-075",
                                            .where = "sbatch",
                                            .what = with_complaint(how, result),
                                            .hint = "`squeue --me` shows whether it accepted the job anyway"});
    }
    if (result.exit_code != 0) {
        throw Error(
            ExitCode::unavailable,
            {.id = "E-SLM-075",
             .where = "sbatch",
             .what = with_complaint(fmt::format("rejected the job with exit code {}", result.exit_code), result),
             .hint = "correct [slurm] in the job file (slurm.skip and slurm.extra are for sites' rules), or wait for "
                     "Slurm: `sinfo` shows whether its controller is up"});
    }
}

/// Of a job that was rejected: what the run's folder keeps has been there before.
void remove_run_files(const ScriptPaths& paths, bool folder_is_new) {
    static_cast<void>(try_to_remove_file(paths.retry_request()));
    if (folder_is_new) {
        for (const std::filesystem::path& file : {paths.plan(), paths.script(), paths.options(), paths.lock()}) {
            static_cast<void>(try_to_remove_file(file));
        }
        static_cast<void>(remove_empty_folder(paths.logs()));
        static_cast<void>(remove_empty_folder(paths.run_folder));
    }
}

/// Calls sbatch, and removes what nobody needs if it has certainly not accepted the job. Throws Error like
/// call_sbatch().
ChildResult hand_in(const ScriptPaths& paths, const std::vector<std::string>& more, bool folder_is_new) {
    try {
        ChildResult result = call_sbatch(sbatch_words({"--parsable"}, more, paths.script()));
        if (result.exit_code != 0 && !is_answer_lost(result)) {
            remove_run_files(paths, folder_is_new);
        }
        return result;
    } catch (const Error& error) {
        if (error.text().id == "E-SLM-074") {  // it was never started
            remove_run_files(paths, folder_is_new);
        }
        throw;
    }
}

void write_run_files(const JobConfig& job, const ScriptPaths& paths, EarlierDeaths deaths,
                     const std::vector<std::string>& more) {
    const mode_t users = ::umask(0077);  // plan and script are private; the job's output follows the user's umask
    make_folder(paths.logs());
    remove_file(paths.drain_request());
    remove_file(paths.retry_request());
    if (deaths == EarlierDeaths::forget) {
        write_text_durably(paths.retry_request(), {});
    }
    write_text_durably(paths.plan(), to_toml(job));
    write_text_durably(paths.script(), batch_script(job, paths));
    write_text_durably(paths.options(), fmt::format("{}", fmt::join(more, "\n")));
    ::umask(users);
}

/// A uniquely named file, removed by the destructor.
class TemporaryScript {
public:
    explicit TemporaryScript(const std::string& text) : TemporaryScript() {
        File file = File::create(path_);
        file.write_at(0, text);
        file.close();
    }
    TemporaryScript(const TemporaryScript&) = delete;
    TemporaryScript& operator=(const TemporaryScript&) = delete;
    ~TemporaryScript() { ::unlink(path_.c_str()); }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    // Complete when it returns: the destructor then removes a file that could not be written to its end.
    TemporaryScript() : path_(folder_for_temporary_files() / ("sluice-" + make_unique_id() + ".sh")) {}

    std::filesystem::path path_;
};

}  // namespace

void check_user_options(const std::vector<std::string>& options) {
    for (std::size_t i = 0; i < options.size(); ++i) {
        std::string problem = problem_with_option(options[i], OptionOrigin::command_line);
        const bool may_be_a_value = i > 0 && !options[i].starts_with('-') && options[i - 1].starts_with("--") &&
                                    options[i - 1].find('=') == std::string::npos;
        if (!problem.empty() && may_be_a_value) {
            problem = fmt::format("got {} {}, expected {}", quoted(options[i - 1]), quoted(options[i]),
                                  quoted(options[i - 1] + "=" + options[i]));
        }
        if (!problem.empty()) {
            throw Error(ExitCode::usage,
                        {.id = "E-USE-098",
                         .where = program_name() + " submit",
                         .what = problem,
                         .hint = program_name() + " submit --help; docs/slurm.md lists the options that sluice keeps"});
        }
    }
}

Submission submit(const JobConfig& job, const ScriptPaths& paths, EarlierDeaths deaths,
                  const std::vector<std::string>& more) {
    const RunPaths run = run_paths(job.output.path, {});
    const bool folder_is_new = !status_of(paths.run_folder);
    const RunFolders folders = make_run_folder(run);
    const Descriptor lock = lock_submission(paths);
    refuse_second_job(paths);
    refuse_foreign_file_beside(run);
    write_run_files(job, paths, deaths, more);
    const ChildResult result = hand_in(paths, more, folder_is_new);
    check_acceptance(result);
    std::optional<Submission> submission = parse_submission(result.out);
    if (!submission) {
        throw Error(ExitCode::unavailable, {.id = "E-SLM-075",
                                            .where = "sbatch",
                                            .what = fmt::format("got {}, expected a job's number", quoted(result.out)),
                                            .hint = "`squeue --me` shows whether it accepted the job anyway"});
    }
    if (std::ranges::find(job.slurm.skip, "output") != job.slurm.skip.end()) {
        submission->log = find_log(*submission);
    }
    try {
        write_submission(paths.submission(), *submission);
    } catch (const Error& error) {
        ErrorText text = error.text();
        text.what = fmt::format("Slurm has accepted job {}, which could not be noted: {}", submission->job, text.what);
        text.hint =
            fmt::format("scancel {}, or another submit makes a second job; then {}", submission->job, text.hint);
        throw Error(error.code(), std::move(text));
    }
    return *submission;
}

std::string test_submission(const JobConfig& job, const ScriptPaths& paths, const std::vector<std::string>& more) {
    const TemporaryScript script(batch_script(job, paths));
    const ChildResult result = call_sbatch(sbatch_words({"--test-only"}, more, script.path()));
    check_acceptance(result);
    return result.err;
}

}  // namespace sluice
