#include <filesystem>

#include "core/error.hpp"
#include "core/fault_point.hpp"
#include "core/launch.hpp"
#include "tools/common_options.hpp"
#include "tools/find_run.hpp"
#include "tools/run_job.hpp"

namespace sluice {
namespace {

Options resume_options() {
    Options options;
    add_set_option(options, "pipeline.depth=4");
    add_run_options(options);
    return options;
}

/// The job as the run's first attempt has kept it.
std::filesystem::path kept_job(const std::string& name) {
    const RunPaths paths = named_run(name);
    if (!std::filesystem::exists(paths.job_file())) {
        throw Error(ExitCode::no_input, {.id = "E-RUN-116",
                                         .where = escaped(paths.run_folder().native()),
                                         .what = "holds no job: run.toml is missing",
                                         .hint = "sluice run JOB.toml goes on with it"});
    }
    return paths.job_file();
}

int resume(const Command& command, Arguments arguments) {
    const ParsedArguments parsed = parse_arguments(command, arguments);
    const std::string name = run_operand(command, parsed);
    const Launch launch = read_launch();
    take_fault_variable(static_cast<int>(launch.number));
    return run(launch.number == 0 ? kept_job(name) : std::filesystem::path(), overrides_of(parsed),
               run_options_of(command, parsed));
}

}  // namespace

const Command resume_command{
    .name = "resume",
    .synopsis = "sluice resume RUN [OPTION]...",
    .summary = "go on with a run that ended early, without its job file",
    .details =
        "RUN is an output, its folder of parts, its run folder (labels.csv.sluice), its job file,\n"
        "or its Slurm job's number.\n"
        "Runs the job that the first attempt has kept there, with all its --set, from wherever it is\n"
        "started. The same as the first command, which goes on as well; mpirun and srun start ranks of it.",
    .exit_codes =
        "  0   all items done            75  stopped early\n"
        "  64  wrong command line        78  wrong --set, or another job than the one begun\n"
        "  66  no run lies there         79  another attempt is alive\n"
        "  and those of `sluice run`",
    .example = "  mpirun -n 4 sluice resume labels.csv",
    .options = resume_options,
    .most_operands = 1,
    .run = resume,
};

}  // namespace sluice
