#include "slurm/batch_script.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int print_script(const ParsedArguments& parsed) {
    const JobConfig job = read_job_absolute(job_file_of(parsed), overrides_of(parsed), parsed.apps);
    print(batch_script(job, script_paths(job)));
    return 0;
}

}  // namespace

const Command script_command{
    .name = "script",
    .synopsis = "sluice script JOB.toml [OPTION]...",
    .summary = "print the batch script that `sluice submit` would hand to Slurm",
    .details =
        "Only the #SBATCH lines differ from job to job: [slurm], [slurm.resume] and [layout] make\n"
        "them. What to compute stands in a plan, which submit writes beside the script: the script\n"
        "does not run without it. docs/slurm.md explains it.",
    .exit_codes =
        "  0   printed                   66  cannot open the job file\n"
        "  64  wrong command line        78  wrong job file or --set",
    .example = "  sluice script job.toml --set slurm.partition=gpu",
    .set_example = "slurm.nodes=4",
    .most_operands = 1,
    .run = print_script,
};

}  // namespace sluice
