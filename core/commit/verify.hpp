#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/commit/run_paths.hpp"

namespace sluice {

struct Verification {
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;  ///< That were read.
    std::uint64_t items = 0;
    std::vector<std::string> problems{};  ///< Each a line that names the file and what is wrong; empty: all is well.
};

/// Reads every byte of the published output and compares it with the manifest, and that with the run's identity. Throws
/// Error (checkpoint_damaged) when either of the two cannot be read as such (E-CKP-088, E-CKP-085), no_input
/// (E-OUT-111) when the run is not finished.
[[nodiscard]] Verification verify_output(const RunPaths& paths);

/// Throws Error (checkpoint_damaged, E-CKP-088) with the first problem and the number of all.
void require_intact(const Verification& verification, const RunPaths& paths);

}  // namespace sluice
