#pragma once

#include "tools/job_plan.hpp"

namespace sluice {

/// Chooses what the job leaves to "auto" of chunk size and depth on GPUs, by what the app was measured to take on this
/// GPU model in this precision: the first run measures it, some tenths of a second, and keeps it for later ones
/// (tools/cost_cache.hpp). Leaves jobs for the host as they are. Sets plan.chunk_note. Throws Error when CUDA fails.
void tune(PreparedJob& job);

}  // namespace sluice
