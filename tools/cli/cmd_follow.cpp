#include <filesystem>

#include "core/commit/held_folder.hpp"
#include "core/error.hpp"
#include "core/paths.hpp"
#include "slurm/stop_reason.hpp"
#include "slurm/submission.hpp"
#include "tools/cli/common_options.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

void follow_options(Options& options) {
    options.add_options()("job", po::value<std::string>()->value_name("ID"), "what sbatch --parsable has printed");
}

int note_follower(const ParsedArguments& parsed) {
    const std::filesystem::path folder = absolute_path(plan_of(parsed)).parent_path();
    if (!parsed.has("job")) {
        refuse_usage(parsed.command, "got no --job");
    }
    const auto& text = parsed.options["job"].as<std::string>();
    const std::optional<Submission> next = parse_submission(text);
    const std::string job = this_attempt().job;
    if (!next || job.empty()) {
        refuse_usage(parsed.command, !next ? "got --job " + quoted(text) + ", expected a job's number"
                                           : std::string("SLURM_JOB_ID is not set: this is not a Slurm job"));
    }
    const HeldFolder held(folder, FolderTrust::only_mine);
    write_follower(folder / "submitted.json", job, *next);
    return 0;
}

}  // namespace

const Command follow_command{
    .name = "follow",
    .synopsis = "sluice follow --plan FILE --job ID",
    .summary = "record that another job continues a run when this one ends",
    .details =
        "Called by the script of `sluice submit` when slurm.resume.mode is \"dependency\", so that status,\n"
        "drain, cancel and --wait turn to the new job.",
    .exit_codes = "  0   recorded     64  wrong command line",
    .example = "  sluice follow --plan labels.csv.sluice/plan.toml --job 4712",
    .plan = "the plan of the run that continues",
    .own_options = follow_options,
    .most_operands = 0,
    .run = note_follower,
    .internal = true,
};

}  // namespace sluice
