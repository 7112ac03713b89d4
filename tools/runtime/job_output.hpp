#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "comm/rank_board.hpp"
#include "core/commit/committed_output.hpp"
#include "core/config/config.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// The chunk size of the run that lies at the output, finished or not: it decides bytes, and an automatic one might be
/// chosen otherwise today. nullopt: there is no run. Throws Error as read_run_identity.
[[nodiscard]] std::optional<std::uint32_t> chunk_items_of_run(const JobConfig::Output& output);

/// What computed that run, "host" or "cuda": a job that leaves it open may have another choice today. nullopt: there is
/// no run. Throws Error as read_run_identity.
[[nodiscard]] std::optional<std::string> device_of_run(const JobConfig::Output& output);

/// The same of the instructions by which its host devices compute. nullopt also where none are recorded.
[[nodiscard]] std::optional<HostInstructions> instructions_of_run(const JobConfig::Output& output);

/// Whether an output is complete there, of this job or another one. Throws Error as read_manifest.
[[nodiscard]] bool is_published(const JobConfig::Output& output);

/// Begins the job's output, or continues with it, or finds it complete. `board` tells the node's ranks how much is
/// committed, for their shutdown hook, and outlives the output. Throws Error as CommittedOutput.
[[nodiscard]] std::unique_ptr<CommittedOutput> open_output(const PreparedJob& job, RankBoard& board);

/// What belongs to this attempt alone; `job.output` is open and not complete.
[[nodiscard]] std::filesystem::path attempt_folder(const PreparedJob& job);

/// What became of the attempts before this one, of which `retry` forgets all; `job.output` is open and not complete.
/// Throws Error (no_progress, E-RUN-082) when this one would only die like the last ones.
[[nodiscard]] std::vector<Attempt> look_at_attempts(const PreparedJob& job, bool retry);

/// The attempts before this one, as their reports and folders tell of them, and this one, which is yet to be described.
/// `job.output` is open and not complete.
[[nodiscard]] std::vector<AttemptSummary> attempts_at(const PreparedJob& job);

/// The line that says so. `items` of the output.
[[nodiscard]] std::string already_complete(const std::filesystem::path& output, std::uint64_t items);

/// What open_output would find, with nothing changed. Throws Error.
[[nodiscard]] OutputState check_output(const PreparedJob& job);

/// Keeps the job in the run's folder, for `sluice resume`; the first attempt's stays. Throws Error (io_error).
void keep_job(const PreparedJob& job);

/// After publish(), as warnings: what nobody needs and could not be removed, and where the job wants it, how many
/// results are not finite.
void warn_at_the_end(const PreparedJob& job);

/// Says what earlier attempts have left damaged, as warnings, and that the run continues.
void say_what_was_found(const CommittedOutput& output, const PreparedJob& job, bool quiet);

}  // namespace sluice
