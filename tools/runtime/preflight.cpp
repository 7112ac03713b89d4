#include "tools/runtime/preflight.hpp"

#include <vector>

#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/process/standard_error.hpp"
#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/gather.hpp"
#include "tools/doctor/output_facts.hpp"
#include "tools/doctor/remedies.hpp"
#include "tools/doctor/topics.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/output_places.hpp"

namespace sluice {
namespace {

void print_line(const Finding& finding) {
    const std::string fix = finding.remedy.empty() ? "" : "; fix: " + finding.remedy;
    say(ErrorText{.id = finding.id, .what = finding.what + fix});
}

DoctorFacts empty_facts(const RankContext& context) {
    return {.launch = read_launch(),
            .world = context.session == nullptr ? 1U : static_cast<std::uint32_t>(context.session->size())};
}

/// Of what a run does not report elsewhere: errors end it where they arise, and W-HWL-077 is reported by bind().
std::vector<Finding> warnings_on(const DoctorFacts& facts) {
    std::vector<Finding> all = diagnose(facts);
    std::erase_if(all, [](const Finding& one) { return one.severity != Severity::warning || one.id == "W-HWL-077"; });
    return all;
}

}  // namespace

void check_before_reading(const RankContext& context, const JobConfig& job) {
    DoctorFacts facts = empty_facts(context);
    for (const Finding& finding : diagnose_launch(facts, Remedies(facts))) {
        if (finding.severity == Severity::error) {
            throw Error(finding.code,
                        {.id = finding.id, .where = "launch", .what = finding.what, .hint = finding.remedy});
        }
    }
    // If CUDA starts while the job is read, this would wait for it.
    const bool is_early = context.session == nullptr || !gpus_in_sight().value_or(std::vector<CudaGpu>()).empty();
    if (job.run.device == DeviceKind::cuda && !is_early && cuda_device_count() == 0) {
        static_cast<void>(make_cuda_device(0));  // throws the reason
    }
    if (seems_published(job.output.path)) {
        return;
    }
    facts.output = look_at_output(job.output.path);
    if (!facts.output->why_not.empty()) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-021",
                     .where = escaped(job.output.path.native()),
                     .what = facts.output->why_not,
                     .hint = hint_for_missing("create the folder or make it writable, or choose another output.path",
                                              job.output.path)});
    }
    for (const Finding& finding : diagnose_output(facts)) {
        if (finding.severity == Severity::warning) {  // the needed memory is only known later
            print_line(finding);
        }
    }
}

void warn_of_places(const RankContext& context, const NodeView& node, const JobPlan& plan) {
    DoctorFacts facts = empty_facts(context);
    facts.device = plan.device;
    facts.wish = {.device = plan.device, .devices = node.layout.devices, .layout = plan.layout};
    RankFacts mine = facts_of(node, {.wish = facts.wish, .device = plan.device}, facts.launch);
    mine.sees_output = !plan.dump_folder.empty();
    facts.ranks = gather_ranks(context.session, mine);
    if (context.rank() != 0) {
        return;
    }
    const std::filesystem::path run_folder = std::filesystem::path(plan.dump_folder).parent_path().parent_path();
    facts.output = {.folder = escaped(run_folder.native()), .free_bytes = UINT64_MAX};  // was looked at before
    if (facts.launch.slurm_job && !warnings_on(facts).empty()) {  // only worth starting srun for if there are any
        facts.slurm = read_slurm_version();
    }
    for (const Finding& finding : warnings_on(facts)) {
        print_line(finding);
    }
}

}  // namespace sluice
