#include "core/fault_point.hpp"
#include "core/machine/launch.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {
namespace {

int resume(const ParsedArguments& parsed) {
    const std::string name = run_operand(parsed);
    const std::vector<Override> overrides = overrides_of(parsed);
    take_fault_variable(static_cast<int>(read_launch().number));
    return run([&] { return kept_job(named_run(name, parsed.apps).paths, overrides, parsed.apps); }, parsed.apps,
               run_options_of(parsed));
}

}  // namespace

const Command resume_command{
    .name = "resume",
    .synopsis = "sluice resume RUN [OPTION]...",
    .summary = "resume a run that ended early, without its job file",
    .details =
        "RUN is an output, its folder of parts, its run folder (labels.csv.sluice), its job file,\n"
        "or its Slurm job's number.\n"
        "Runs the job that the first attempt saved there, with all its --set, from any working folder,\n"
        "and writes the output that RUN names, also where it was copied or moved to. Files beside the\n"
        "output are looked for beside it. Start ranks of it with mpirun or srun.",
    .exit_codes =
        "  0   all items done            75  stopped early\n"
        "  64  wrong command line        78  wrong --set, or another job than the one begun\n"
        "  66  no run found there        79  another attempt is alive\n"
        "  and those of `sluice run`",
    .example = "  mpirun -n 4 sluice resume labels.csv",
    .set_example = "pipeline.depth=4",
    .run_flags = true,
    .most_operands = 1,
    .run = resume,
    .for_ranks = true,
    .writes_output = true,
};

}  // namespace sluice
