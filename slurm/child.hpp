#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace sluice {

struct ChildResult {
    int exit_code = 0;  ///< 128 + signal number if killed by a signal.
    std::string out{};
    std::string err{};

    friend bool operator==(const ChildResult&, const ChildResult&) = default;
};

/// Runs `words[0]`, found by PATH, with the other words as arguments; no shell, empty stdin. It inherits this process's
/// environment, but of SLURM_*, SBATCH_*, SRUN_* and the like only SLURM_CONF and SLURM_CLUSTERS, and no blocked
/// signals. Keeps the first 64 KiB of each output. nullopt: killed after `at_most`, or when `stop` was requested.
/// Throws Error (unavailable): E-SLM-074 when it cannot be started, E-SLM-113 when the system does not tell its end.
[[nodiscard]] std::optional<ChildResult> run_child(const std::vector<std::string>& words, std::chrono::seconds at_most,
                                                   const std::stop_token& stop = {});

/// Children get this process's environment as it is now: setenv() in another thread would move it while one is started.
void keep_environment();

/// Error (unavailable, E-SLM-113): a program of Slurm gives no answer that can be used, for the reason `what`.
[[nodiscard]] Error no_answer(const char* program, std::string what);

/// The same for a call that has failed, or did not end within `at_most`.
[[nodiscard]] Error no_answer(const char* program, const std::optional<ChildResult>& result,
                              std::chrono::seconds at_most);

/// Whether a program of Slurm's says that Slurm does not, or no longer, know the job's number.
[[nodiscard]] bool knows_no_such_job(const ChildResult& result);

/// Rest of the first of `lines` that begins with `word` and a space; empty: none. Slurm answers for a job with a line
/// for each task of an array and each component of a heterogeneous job whose own number that is, and for 0 with all
/// jobs.
[[nodiscard]] std::string_view line_of(std::string_view word, std::string_view lines);

/// Its stderr, or else its stdout, as one line for a message: the first lines, escaped, joined by "; ".
[[nodiscard]] std::string complaint_of(const ChildResult& result);

/// `what`, and behind a colon the complaint, if there is any.
[[nodiscard]] std::string with_complaint(std::string what, const ChildResult& result);

}  // namespace sluice
