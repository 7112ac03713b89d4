#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"
#include "core/commit/run_paths.hpp"
#include "core/error.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/program_name.hpp"
#include "slurm/queue.hpp"
#include "slurm/run_files.hpp"
#include "slurm/stop_reason.hpp"
#include "slurm/submission.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

void stop_reason_options(Options& options) {
    options.add_options()                                                                   //
        ("srun-rc", po::value<int>()->value_name("N"), "what srun or mpirun has returned")  //
        ("drained", po::value<int>()->value_name("N"), "1 where the script has been asked to stop");
}

void say_that_none_follows(const AttemptId& attempt) {
    const ErrorText text{.id = "W-SLM-161",
                         .what = fmt::format("the output is not complete, and no attempt follows attempt {}: "
                                             "slurm.resume.max = {} is used up",
                                             attempt.number, *attempt.most - 1),
                         .hint = fmt::format("`{} submit` resumes from there", program_name())};
    say(text);
}

int print_stop_reason(const ParsedArguments& parsed) {
    const std::filesystem::path folder = plan_of(parsed).parent_path();
    if (!parsed.has("srun-rc")) {
        refuse_usage(parsed.command, "got no --srun-rc");
    }
    if (!status_of(folder)) {  // no status, and nothing that another attempt could resume
        print(fmt::format("{} no\n", static_cast<int>(ExitCode::io_error)));
        return 0;
    }
    const HeldFolder held(folder, FolderTrust::only_mine);
    const AttemptId attempt = this_attempt();
    const std::optional<RunPaths> run = find_run(folder);
    const LauncherEnd launcher{.code = parsed.options["srun-rc"].as<int>(),
                               .drained = parsed.has("drained") && parsed.options["drained"].as<int>() != 0,
                               .published = run && status_of(run->manifest())};
    const ScriptEnd reason = stop_reason(read_run_status(RunFiles{folder}.status()), attempt, launcher);
    if (reason.used_up) {
        say_that_none_follows(attempt);
    }
    if (reason.code == 0 && launcher.code != 0) {
        say("sluice: the output is complete: what ended the ranks came after it\n");
    }
    print(fmt::format("{} {}\n", reason.code, reason.again ? "yes" : "no"));
    return 0;
}

void follow_options(Options& options) {
    options.add_options()("job", po::value<std::string>()->value_name("ID"), "what sbatch --parsable has printed");
}

int note_follower(const ParsedArguments& parsed) {
    const std::filesystem::path folder = plan_of(parsed).parent_path();
    if (!parsed.has("job")) {
        refuse_usage(parsed.command, "got no --job");
    }
    const auto& text = parsed.options["job"].as<std::string>();
    std::optional<Submission> next = parse_submission(text);
    const std::string job = this_attempt().job;
    if (!next || job.empty()) {
        refuse_usage(parsed.command, !next ? "got --job " + quoted(text) + ", expected a job's number"
                                           : std::string("SLURM_JOB_ID is not set: this is not a Slurm job"));
    }
    const HeldFolder held(folder, FolderTrust::only_mine);
    const std::filesystem::path file = RunFiles{folder}.submission();
    if (const auto now = read_submission(file); now && now->log) {  // elsewhere, where Slurm or the site puts it
        next->log = find_log(*next);
    }
    write_follower(file, job, *next);
    return 0;
}

}  // namespace

const Command stop_reason_command{
    .name = "stop-reason",
    .synopsis = "--plan FILE --srun-rc N [--drained N]",
    .summary = "print why this attempt of a submitted job has ended",
    .details =
        "Called by the script of `{program} submit` when the ranks have ended. Prints the exit code that\n"
        "the attempt has earned, and yes if another one is worth it: it has stopped early in good\n"
        "order, has got further, and nobody has asked it to stop for good.",
    .exit_codes = "  0   printed        64  wrong command line",
    .example = "  {program} stop-reason --plan labels.csv.sluice/plan.toml --srun-rc 137",
    .plan = "the plan of the run that has ended",
    .own_options = stop_reason_options,
    .most_operands = 0,
    .run = print_stop_reason,
    .internal = true,
};

const Command follow_command{
    .name = "follow",
    .synopsis = "--plan FILE --job ID",
    .summary = "record that another job continues a run when this one ends",
    .details =
        "Called by the script of `{program} submit` when slurm.resume.mode is \"dependency\", so that status,\n"
        "drain, cancel and --wait turn to the new job.",
    .exit_codes = "  0   recorded     64  wrong command line",
    .example = "  {program} follow --plan labels.csv.sluice/plan.toml --job 4712",
    .plan = "the plan of the run that continues",
    .own_options = follow_options,
    .most_operands = 0,
    .run = note_follower,
    .internal = true,
};

}  // namespace sluice
