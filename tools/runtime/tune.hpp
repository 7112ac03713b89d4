#pragma once

#include <cstdint>

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Chooses an "auto" chunk size on GPUs, and then an "auto" depth, by the app's measured costs on this GPU model with
/// these settings: for `devices` GPUs, those of all ranks, if the app is batch-invariant; otherwise the size suits 1,
/// 2, 4 and 8 GPUs. The first run of a version of sluice measures them, within two seconds except for what
/// measure_costs() exempts, and stores them for later ones (tools/runtime/cost_cache.hpp). A resumed run keeps its
/// chunk size. Leaves host jobs unchanged. Sets job.chunk_note. Throws Error when CUDA fails.
void tune(PreparedJob& job, std::uint32_t devices);

}  // namespace sluice
