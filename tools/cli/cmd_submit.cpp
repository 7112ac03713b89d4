#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/commit/file.hpp"
#include "core/commit/run_folder.hpp"
#include "core/input/input_files.hpp"
#include "core/text/wording.hpp"
#include "core/weights/weights_file.hpp"
#include "slurm/submit.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/app_files.hpp"
#include "tools/runtime/check_job.hpp"
#include "tools/runtime/job_output.hpp"
#include "tools/runtime/output_places.hpp"
#include "tools/runtime/run_observer.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int print_script(const ParsedArguments& parsed) {
    const JobConfig job = read_job_absolute(job_file_of(parsed), parsed.apps);
    print(batch_script(job, script_paths(job)));
    return 0;
}

void submit_options(Options& options) {
    options.add_options()                                                                      //
        ("dry-run", "check the job, print the script and the call of sbatch; submit nothing")  //
        ("wait", "wait until the job ends, through requeues; Ctrl-C ends only the waiting")    //
        ("retry", "forget that earlier attempts died (exit code 82)")                          //
        ("test-only", "ask Slurm whether the job could run, and when; submit nothing")         //
        ("no-files", "do not look for input and weights here: only the nodes see them");
}

/// As a shell's word.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-=:,@%+";
    return text.find_first_not_of(plain) == std::string::npos ? text
                                                              : fmt::format("'{}'", replace_all(text, "'", "'\\''"));
}

void print_dry_run(const JobConfig& job, const ScriptPaths& paths, const std::vector<std::string>& more) {
    std::string words = "# sbatch --parsable";
    for (const std::string& option : more) {
        words += fmt::format(" {}", shell_word(option));
    }
    print(batch_script(job, paths) + words + " " + paths.script().native() + "\n");
}

/// For a job that was submitted, or an output of so many items that was complete already.
std::string as_json(const ScriptPaths& paths, const std::optional<Submission>& submission,
                    std::optional<std::uint64_t> items) {
    nlohmann::ordered_json json{{"job", nullptr},
                                {"cluster", nullptr},
                                {"run_folder", paths.run_folder.native()},
                                {"complete", items.has_value()}};
    if (submission) {
        json["job"] = submission->job;
        json["cluster"] = submission->cluster;
    }
    if (items) {
        json["items"] = *items;
    }
    return json_text(json);
}

/// Finds now what the job would only find after queueing. Throws Error, as `sluice run` would.
void check_files(const JobConfig& job, const Apps& apps) {
    if (!job.input.paths.empty()) {
        std::vector<std::filesystem::path> files;
        for (const auto& file : open_input_files(job.input.paths)) {
            files.push_back(file->path());
        }
        refuse_to_replace_input_files(job, files);
    }
    if (job.model.weights) {
        (void)WeightsFile(*job.model.weights);
    }
    refuse_to_replace_app_files(job,
                                *open_app({.app = job.app, .settings = encode(job.settings)}, apps, job.model.weights));
    check_output_path(job.output.path);
    check_report_paths(job.output);
    const RunPaths paths = run_paths(job.output.path, extension_of(job.output.format));
    static_cast<void>(find_run_folder(paths));
    refuse_foreign_file_beside(paths);
}

/// Items of the job's output if it is complete, as `sluice run` would find, else nullopt. Reads the weights only if
/// there is a run to compare with, and the whole input only if it isn't that run's. Throws Error, as `sluice run`
/// would: also if the run is another job's.
std::optional<std::uint64_t> items_if_complete(JobFile file, const JobConfig& job, const Apps& apps) {
    const RunPaths paths = run_paths(job.output.path, extension_of(job.output.format));
    if (!status_of(paths.manifest()) && !status_of(paths.identity())) {
        return std::nullopt;
    }
    // This machine's devices may differ from the nodes'.
    const RunChoices begun_with = choices_of_run(job.output);
    if (begun_with.device && job.run.device == DeviceKind::automatic) {
        file.overrides.push_back({.key = "run.device", .value = *begun_with.device});
    }
    PreparedJob prepared = prepare_to_compare(read_job(file, apps), apps);
    prepared.gpu = begun_with.gpu.value_or(prepared.gpu);
    return check_output(prepared) == OutputState::complete ? std::optional(prepared.plan.items) : std::nullopt;
}

int submit_job(const ParsedArguments& parsed) {
    const std::vector<std::string>& more = parsed.after_dashes;
    check_user_options(more);
    if (parsed.has("wait") && (parsed.has("dry-run") || parsed.has("test-only"))) {
        refuse_usage(parsed.command, "got --wait, but --dry-run and --test-only submit nothing to wait for");
    }
    if (parsed.has("retry") && (parsed.has("dry-run") || parsed.has("test-only"))) {
        refuse_usage(parsed.command, "got --retry, but --dry-run and --test-only submit nothing that would try again");
    }
    if (parsed.has("json") && (parsed.has("dry-run") || parsed.has("test-only"))) {
        refuse_usage(parsed.command, "got --json, but --dry-run and --test-only print text alone");
    }
    const JobConfig job = read_job_absolute(job_file_of(parsed), parsed.apps);
    const ScriptPaths paths = script_paths(job);
    warn_of_long_notice(job);
    if (parsed.has("test-only")) {
        print(test_submission(job, paths, more));
        return 0;
    }
    if (!parsed.has("no-files")) {
        if (const auto items = items_if_complete(job_file_of(parsed), job, parsed.apps)) {
            print(parsed.has("json") ? as_json(paths, std::nullopt, items) : already_complete(job.output.path, *items));
            return 0;
        }
        check_files(job, parsed.apps);
    }
    if (parsed.has("dry-run")) {
        print_dry_run(job, paths, more);
        return 0;
    }
    const Submission submission =
        submit(job, paths, parsed.has("retry") ? EarlierDeaths::forget : EarlierDeaths::count, more);
    print(parsed.has("json") ? as_json(paths, submission, std::nullopt) : submission.job + "\n");
    return parsed.has("wait") ? wait_for_run(paths.run_folder) : 0;
}

}  // namespace

const Command script_command{
    .name = "script",
    .synopsis = "JOB.toml [OPTION]...",
    .summary = "print the batch script that `{program} submit` would hand to Slurm",
    .details =
        "Only the #SBATCH lines differ from job to job: [slurm], [slurm.resume] and [layout] make\n"
        "them. What to compute stands in a plan, which submit writes beside the script: the script\n"
        "does not run without it. docs/slurm.md explains it.",
    .exit_codes =
        "  0   printed                   66  cannot open the job file\n"
        "  64  wrong command line        78  wrong job file or --set",
    .example = "  {program} script job.toml --set slurm.partition=gpu",
    .set_example = "slurm.nodes=4",
    .most_operands = 1,
    .run = print_script,
};

const Command submit_command{
    .name = "submit",
    .synopsis = "JOB.toml [OPTION]... [-- SBATCH-OPTION...]",
    .summary = "submit a job to Slurm, and print its number",
    .details =
        "Writes plan, script and a folder for logs to the run's folder beside the output, then calls\n"
        "sbatch. The job resumes where an earlier attempt stopped; where its output is complete,\n"
        "or has an unfinished run of another job, nothing is submitted. What follows -- goes to sbatch,\n"
        "as --name=value, and wins over [slurm]; some options, such as --array and --output, are refused.\n"
        "With --wait it shows the job's progress, and ends with its exit code. docs/slurm.md explains\n"
        "it, and lists those options.",
    .exit_codes =
        "  0   submitted, or complete    73  cannot create the run's folder\n"
        "  64  wrong command line        77  the output would replace a file of the job\n"
        "  65  wrong input or weights    78  wrong job file or --set, or another job's run\n"
        "  66  cannot open job or input  79  a job works on this output\n"
        "  69  no Slurm, or it refuses   84  the output is damaged\n"
        "  and with --wait those of `{program} run`",
    .example = "  {program} submit job.toml --set slurm.nodes=4 -- --qos=high",
    .set_example = "slurm.nodes=4",
    .json = true,
    .own_options = submit_options,
    .most_operands = 1,
    .run = submit_job,
    .for_sbatch = true,
};

}  // namespace sluice
