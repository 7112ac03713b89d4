#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice {

struct ChildResult {
    int exit_code = 0;  ///< 128 + the signal's number when one ended it.
    std::string out{};
    std::string err{};

    friend bool operator==(const ChildResult&, const ChildResult&) = default;
};

/// Runs `words[0]`, found by PATH, with the other words as its arguments; no shell, stdin empty. It gets this process's
/// environment, but of SLURM_*, SBATCH_*, SRUN_* and the like only SLURM_CONF and SLURM_CLUSTERS, and no blocked
/// signals. Keeps the first 64 KiB of each output. nullopt: it took longer than `at_most`, or until `stop` was
/// requested, and was killed. Throws Error (unavailable, E-SLM-074) when it cannot be started.
[[nodiscard]] std::optional<ChildResult> run_child(const std::vector<std::string>& words, std::chrono::seconds at_most,
                                                   const std::stop_token& stop = {});

/// What it has said on stderr, as one line for a message: its lines with "; " between them, escaped.
[[nodiscard]] std::string complaint_of(const ChildResult& result);

}  // namespace sluice
