#pragma once

#include <filesystem>
#include <span>

#include "core/config.hpp"

namespace sluice {

struct RunOptions {
    bool quiet = false;    ///< Nothing on stdout: neither the latency table nor where the files are.
    bool progress = true;  ///< The bar on a terminal, or a line every 30 s.
};

/// Runs a job to its end on every rank that was started with this one; without a launcher that is this process alone.
/// Rank 0 reads the job file. Returns the exit code; throws Error.
[[nodiscard]] int run(const std::filesystem::path& job_file, std::span<const Override> overrides,
                      const RunOptions& options);

}  // namespace sluice
