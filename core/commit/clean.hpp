#pragma once

#include <chrono>
#include <cstdint>

#include "core/commit/owner.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// Removes what a published run does not need any more: the folders of all attempts but `published`, of which the
/// journal stays. Those of other owners that may still be alive are left, and are removed by the next call. What cannot
/// be removed stays: the output is complete.
void clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me, std::chrono::seconds alive_within);

}  // namespace sluice
