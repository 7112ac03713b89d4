#include "core/fault_point.hpp"
#include "core/machine/launch.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {
namespace {

int run_job_file(const ParsedArguments& parsed) {
    take_fault_variable(static_cast<int>(read_launch().number));
    const std::string path = job_file_of(parsed);  // an invalid command line is reported before ranks meet
    const std::vector<Override> overrides = overrides_of(parsed);
    const auto file = [&] { return JobFile{.path = path, .overrides = overrides}; };
    return run(file, parsed.apps, run_options_of(parsed));
}

}  // namespace

const Command run_command{
    .name = "run",
    .synopsis = "sluice run JOB.toml [OPTION]...",
    .summary = "run a job: alone, or as a rank under mpirun or srun",
    .details =
        "Reads the input, computes and writes the output in the order of the items; the output\n"
        "appears under its name only when it is complete. The bytes do not depend on the number\n"
        "of ranks. A run that ended early is resumed when the same command is given again; a complete\n"
        "one is left as it is. The first SIGTERM, SIGINT or SIGUSR1 lets chunks in flight finish; so does\n"
        "a time limit that is near, which Slurm or --time-left tells.\n"
        "Progress goes to stderr: a bar on a terminal, else a line after 2, 5, 10, 30 s and so on.\n"
        "At the end comes the latency table, also written as JSON (output.report).\n"
        "Relative paths in the job and in --set start from the job file's folder.\n"
        "`sluice help keys` lists the keys of a job.",
    .exit_codes =
        "  0   all items done            76  a rank hangs, or the ranks lost each other\n"
        "  64  wrong command line        77  the output would replace a file of the job\n"
        "  65  wrong input or weights    78  wrong job file or --set, or an unfinished other job\n"
        "  66  cannot open a file        79  another attempt is alive\n"
        "  69  the device is missing     80  a GPU's hardware failed\n"
        "  70  internal error            81  weights or results are not finite\n"
        "  71  out of memory             82  earlier attempts died, and so would this one\n"
        "  73  cannot create the output  83  a newer attempt has taken over\n"
        "  74  a read or a write failed  84  the run's folder or the output is damaged\n"
        "  75  stopped early",
    .example = "  mpirun -n 4 sluice run job.toml --set pipeline.depth=4",
    .set_example = "pipeline.depth=4",
    .run_flags = true,
    .most_operands = 1,
    .run = run_job_file,
    .for_ranks = true,
    .writes_output = true,
};

}  // namespace sluice
