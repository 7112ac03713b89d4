#include <filesystem>

#include "core/error.hpp"
#include "core/fault_point.hpp"
#include "core/machine/launch.hpp"
#include "core/paths.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {
namespace {

int run_plan(const ParsedArguments& parsed) {
    take_fault_variable(static_cast<int>(read_launch().number));
    const std::filesystem::path plan = absolute_path(plan_of(parsed));
    const int code = run([&] { return planned_job(plan); }, parsed.apps, {.run_folder = plan.parent_path()});
    // Under srun --kill-on-bad-exit a rank with another code would end the others before they have committed. The
    // status file records the early stop.
    return code == static_cast<int>(ExitCode::stopped_early) ? 0 : code;
}

}  // namespace

const Command exec_command{
    .name = "exec",
    .synopsis = "sluice exec --plan FILE",
    .summary = "run a submitted job's plan, as a rank under srun or mpirun",
    .details =
        "Called by the script of `sluice submit`. Like `sluice run`, but 0 may also mean that the\n"
        "run stopped early in good order: `sluice stop-reason` knows.",
    .exit_codes = "  0   done, or stopped early; else as `sluice run`",
    .example = "  srun --mpi=pmix sluice exec --plan labels.csv.sluice/plan.toml",
    .plan = "the plan that `sluice submit` wrote",
    .most_operands = 0,
    .run = run_plan,
    .internal = true,
    .for_ranks = true,
    .writes_output = true,
};

}  // namespace sluice
