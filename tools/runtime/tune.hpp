#pragma once

#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Chooses a chunk size that the job leaves to "auto" on GPUs, and a depth likewise, by what the app was measured to
/// take on this GPU model with these settings: the first run of a version of sluice measures it, for two seconds at
/// most, and keeps it for later ones (tools/runtime/cost_cache.hpp). A resumed run keeps its chunk size. Leaves
/// jobs for the host as they are. Sets plan.chunk_note. Throws Error when CUDA fails.
void tune(PreparedJob& job);

}  // namespace sluice
