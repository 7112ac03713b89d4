#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "comm/rank_board.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/commit/committed_output.hpp"
#include "core/config/config.hpp"
#include "scheduler/attempt_summary.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Whether nothing has been begun at the output.
[[nodiscard]] bool is_new(const JobConfig::Output& output);

/// As recorded by the run at the output, finished or not. Throws Error as read_run_identity.
[[nodiscard]] RunChoices choices_of_run(const JobConfig::Output& output);

/// What the run at the job's output, finished or not, has found in its input, if the job would read the same file
/// alike. Throws Error as read_run_identity.
[[nodiscard]] std::optional<CountedInput> counted_by_run(const JobConfig& job);

/// Whether a complete output, of this job or another one, exists there. Throws Error as read_manifest.
[[nodiscard]] bool is_published(const JobConfig::Output& output);

/// Begins or continues the job's output, or finds it complete. Waits, and says so, until an attempt on another host has
/// shown that it lives or counts as dead. Posts on `board`, which outlives the output, how much is
/// committed, for messages of the node's ranks at their end. Throws Error as CommittedOutput.
[[nodiscard]] std::unique_ptr<CommittedOutput> open_output(const PreparedJob& job, RankBoard& board);

/// An attempt at an output that is open and not complete.
struct OpenAttempt {
    std::unique_ptr<CommittedOutput> output;
    std::filesystem::path folder;           ///< The attempt's own, in the run's.
    std::vector<AttemptSummary> summaries;  ///< Of earlier attempts, and of this one, yet to be described.
    std::vector<Attempt> earlier;           ///< Earlier attempts that count.
};

/// The folder of the attempt that writes to `output`, which is open and not complete, at `to`.
[[nodiscard]] std::filesystem::path attempt_folder(const JobConfig::Output& to, const CommittedOutput& output);

/// Earlier attempts at `output` and their ends, all ignored with `retry`. Throws Error (no_progress, E-RUN-082) when
/// this attempt would only die like the last ones.
[[nodiscard]] std::vector<Attempt> look_at_attempts(const JobConfig::Output& to, const CommittedOutput& output,
                                                    bool retry);

/// Earlier attempts at `output`, by reports and folders, and the one that writes to it, yet to be described.
[[nodiscard]] std::vector<AttemptSummary> attempts_at(const JobConfig::Output& to, const CommittedOutput& output);

/// The message that the output, of `items` items, is already complete.
[[nodiscard]] std::string already_complete(const std::filesystem::path& output, std::uint64_t items);

/// What determines the output's bytes, as it would be computed now.
[[nodiscard]] RunIdentity identity_of(const PreparedJob& job);

/// The state that open_output() would find; changes nothing. Throws Error.
[[nodiscard]] OutputState check_output(const PreparedJob& job);

/// Stores the job in the run's folder for `sluice resume`, unless an earlier attempt has. Throws Error (io_error).
void keep_job(const PreparedJob& job);

/// After publish(), warns of leftovers that could not be removed and, if the job wants it, of results that are not
/// finite.
void warn_at_the_end(const CommittedOutput& output, const PreparedJob& job);

/// Warns of damage left by earlier attempts, and reports that the run continues.
void say_what_was_found(const CommittedOutput& output, const PreparedJob& job, bool quiet);

}  // namespace sluice
