#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "core/config/slurm_option.hpp"
#include "core/error.hpp"
#include "core/machine/launch.hpp"
#include "core/process/fault_point.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/run_job.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

void add_run_options(Options& options) {
    options.add_options()                                                                        //
        ("quiet,q", "print nothing on stdout: no latency table")                                 //
        ("table", "print all times of all ranks, instead of a line per stage")                   //
        ("no-progress", "show no progress on stderr")                                            //
        ("time-left", po::value<std::string>()->value_name("DURATION"),                          //
         "time left until the job's limit (\"04:00:00\", \"90m\"), instead of what Slurm says")  //
        ("retry", "forget that earlier attempts died (exit code 82)");
}

/// Value of --time-left, if given.
std::optional<std::chrono::seconds> time_left_of(const ParsedArguments& parsed) {
    if (!parsed.has("time-left")) {
        return std::nullopt;
    }
    const auto& text = parsed.options["time-left"].as<std::string>();
    const std::optional<std::chrono::seconds> left = parse_duration(text);
    if (!left || left->count() == 0) {
        refuse_usage(
            parsed.command,
            fmt::format(
                "got --time-left {}, expected 1 s to 365 days, as in \"04:00:00\", \"1-12:00:00\", \"240s\", \"90m\", "
                "\"4h\" or \"2d\"",
                quoted(text)));
    }
    return left;
}

/// As RunOptions::named. Only rank 0 has to see a file.
std::string named_job(const std::string& name, const ParsedArguments& parsed) {
    std::error_code unknown;
    std::string job = std::filesystem::absolute(name, unknown).native();
    if (unknown || !std::filesystem::exists(job, unknown)) {
        return {};
    }
    for (const Override& one : overrides_of(parsed)) {
        job += fmt::format("\n{}={}", one.key, one.value);
    }
    return job;
}

RunOptions run_options_of(const ParsedArguments& parsed, const std::string& name) {
    return {.quiet = parsed.has("quiet"),
            .time_left = time_left_of(parsed),
            .progress = !parsed.has("no-progress"),
            .named = named_job(name, parsed),
            .retry = parsed.has("retry"),
            .full_table = parsed.has("table")};
}

int run_job_file(const ParsedArguments& parsed) {
    take_fault_variable(static_cast<int>(read_launch().number));
    const JobFile file = job_file_of(parsed);  // an invalid command line is reported before ranks meet
    return run([&] { return JobFile(file); }, parsed.apps, run_options_of(parsed, file.path));
}

int resume(const ParsedArguments& parsed) {
    const std::string name = operand_of(parsed, "run");
    const std::vector<Override> overrides = overrides_of(parsed);
    take_fault_variable(static_cast<int>(read_launch().number));
    return run([&] { return kept_job(named_run(name, parsed.apps).paths, overrides, parsed.apps); }, parsed.apps,
               run_options_of(parsed, name));
}

int run_plan(const ParsedArguments& parsed) {
    take_fault_variable(static_cast<int>(read_launch().number));
    const std::filesystem::path plan = plan_of(parsed);
    const int code = run([&] { return planned_job(plan); }, parsed.apps, {.run_folder = plan.parent_path()});
    // Under srun --kill-on-bad-exit a rank with another code would end the others before they have committed. The
    // status file records the early stop.
    return code == static_cast<int>(ExitCode::stopped_early) ? 0 : code;
}

}  // namespace

const Command run_command{
    .name = "run",
    .synopsis = "JOB.toml [OPTION]...",
    .summary = "run a job: alone, or as a rank under mpirun or srun",
    .details =
        "Reads the input, computes, and writes the output in the order of the items; the output\n"
        "appears under its name only when it is complete. The bytes do not depend on the number\n"
        "of ranks. A run that ended early is resumed when the same command is given again; a complete\n"
        "one is left as it is. The first SIGTERM, SIGINT or SIGUSR1 lets chunks in flight finish and\n"
        "stops the run; so does a time limit that is near, known from Slurm or from --time-left.\n"
        "Progress goes to stderr: a bar on a terminal, else a line after 2, 5, 10, 30 s and so on.\n"
        "At the end comes the latency table, also written as JSON (output.report).\n"
        "Relative paths in the job and in --set start from the job file's folder.\n"
        "`{program} help keys` lists the keys of a job.",
    .exit_codes =
        "  0   all items done            76  a rank hangs, or ranks lost contact\n"
        "  64  wrong command line        77  the output would replace a file of the job\n"
        "  65  wrong input or weights    78  wrong job file or --set, or an unfinished other job\n"
        "  66  cannot open a file        79  another attempt is alive\n"
        "  69  the device is missing     80  a GPU's hardware failed\n"
        "  70  internal error            81  weights or results are not finite\n"
        "  71  out of memory             82  earlier attempts died, and so would this one\n"
        "  73  cannot create the output  83  a newer attempt has taken over\n"
        "  74  a read or a write failed  84  the run's folder or the output is damaged\n"
        "  75  stopped early: the same command goes on",
    .example =
        "  mpirun -n 4 {program} run job.toml --set pipeline.depth=4\n"
        "  srun --mpi=pmix {program} run job.toml",
    .set_example = "pipeline.depth=4",
    .own_options = add_run_options,
    .most_operands = 1,
    .run = run_job_file,
    .for_ranks = true,
    .writes_output = true,
};

const Command resume_command{
    .name = "resume",
    .synopsis = "RUN [OPTION]...",
    .summary = "resume a run that ended early, without its job file",
    .details =
        "RUN is an output, its folder of parts, its run folder (labels.csv.sluice), its job file,\n"
        "or its Slurm job's number.\n"
        "Runs the job that the first attempt saved there, with all its --set, from any working folder,\n"
        "and writes the output that RUN names, also where it was copied or moved to. Files beside the\n"
        "output are looked for beside it, and relative paths in --set start there. Start ranks of it\n"
        "with mpirun or srun.",
    .exit_codes =
        "  0   all items done            75  stopped early\n"
        "  64  wrong command line        78  wrong --set, or another job than the one begun\n"
        "  66  no run found there        79  another attempt is alive\n"
        "  and those of `{program} run`",
    .example = "  mpirun -n 4 {program} resume labels.csv",
    .set_example = "pipeline.depth=4",
    .own_options = add_run_options,
    .most_operands = 1,
    .run = resume,
    .for_ranks = true,
    .writes_output = true,
};

const Command exec_command{
    .name = "exec",
    .synopsis = "--plan FILE",
    .summary = "run a submitted job's plan, as a rank under srun or mpirun",
    .details =
        "Called by the script of `{program} submit`. Like `{program} run`, but 0 may also mean that the\n"
        "run stopped early in good order: `{program} stop-reason` knows.",
    .exit_codes = "  0   done, or stopped early; else as `{program} run`",
    .example = "  srun --mpi=pmix {program} exec --plan labels.csv.sluice/plan.toml",
    .plan = "the plan that `{program} submit` wrote",
    .most_operands = 0,
    .run = run_plan,
    .internal = true,
    .for_ranks = true,
    .writes_output = true,
};

}  // namespace sluice
