#include "tools/runtime/choose_instructions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/machine/provenance.hpp"
#include "tools/runtime/job_output.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_without_amx(const std::string& host) {
    const std::string no_gpu = why_no_cuda();
    throw Error(
        ExitCode::unavailable,
        {.id = "E-HWL-146",
         .where = "run.precision",
         .what = fmt::format("got \"bf16\", for which a host's CPU needs AMX, and {} lacks it, or "
                             "DNNL_MAX_CPU_ISA forbids it{}",
                             escaped(host), no_gpu.empty() ? "" : fmt::format(" (no GPU: {})", no_gpu)),
         .hint = "set run.precision = \"fp32\", or run the job on Intel Xeons from Sapphire Rapids on, or on GPUs"});
}

[[noreturn]] void refuse_fewer(const PreparedJob& job, HostInstructions begun, const std::string& host,
                               HostInstructions has, std::string hint) {
    throw Error(
        ExitCode::configuration,
        {.id = "E-CKP-091",
         .where = escaped(job.job.output.path.native()),
         .what = fmt::format("the run there was begun with {} instructions, but {} has {}: sums would differ in their "
                             "last digits",
                             name_of(begun), escaped(host), name_of(has)),
         .hint = std::move(hint)});
}

}  // namespace

HostInstructions choose_instructions(const PreparedJob& job, std::span<const HostInstructions> ranks,
                                     std::span<const std::string> hosts) {
    if (job.plan.device != DeviceKind::host) {
        return job.plan.instructions;
    }
    const auto least = std::ranges::min_element(ranks);
    const auto rank = static_cast<std::size_t>(least - ranks.begin());
    if (job.plan.precision == Precision::bf16 && *least < HostInstructions::amx && !is_published(job.job.output)) {
        refuse_without_amx(hosts[rank]);
    }
    const HostInstructions chosen = job.begun_with.instructions.value_or(instructions_used(*least, job.plan.precision));
    if (*least >= chosen || is_published(job.job.output)) {
        return chosen;
    }
    refuse_fewer(job, chosen, hosts[rank], *least,
                 fmt::format("resume where every host has them and DNNL_MAX_CPU_ISA is not set, or start over with "
                             "DNNL_MAX_CPU_ISA={}",
                             variable_name_of(*least)));
}

void require_instructions_of_run(const PreparedJob& job) {
    const HostInstructions has = host_instructions();
    if (job.plan.device == DeviceKind::host && has < job.plan.instructions) {
        refuse_fewer(job, job.plan.instructions, host_name(), has,
                     "compute it again on a host that has them, and where DNNL_MAX_CPU_ISA is not set");
    }
}

}  // namespace sluice
