#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/committer.hpp"
#include "core/commit/heartbeat.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/run_folder.hpp"
#include "core/commit/run_identity.hpp"

namespace sluice {

struct OutputRunOptions {
    RunPaths paths{};
    RunIdentity identity{};
    FileHeader header{};
    Owner me{};
    ResumeVerify verify = ResumeVerify::open;
    CommitPolicy policy{};
    std::chrono::seconds alive_within{60};        ///< How old the heartbeat of a living attempt may be.
    std::chrono::milliseconds heartbeat{10'000};  ///< How often this one gives its own.
    std::uint64_t bytes_to_come = 0;              ///< The output's size where it is known before, else 0.
    std::vector<std::pair<std::string, std::string>> provenance{};
};

enum class OutputState {
    absent,      ///< Nothing is there, or an attempt that ended at once.
    unfinished,  ///< A run that can go on.
    complete,
};

/// What an OutputRun would find, with nothing changed. Throws Error as its constructor does, but for what only an
/// attempt notices: one that is alive, too little space, a folder in which nothing can be made.
[[nodiscard]] OutputState look_at_output(const RunPaths& paths, const RunIdentity& identity);

/// One attempt at an output, from the first look at what is there to the manifest. docs/output-protocol.md describes
/// it.
class OutputRun {
public:
    /// Begins the run, or continues it with everything that earlier attempts have finished; or finds it complete.
    /// Throws Error, with nothing changed: cannot_create (E-OUT-021, E-OUT-022 something else is there, E-OUT-024
    /// complete, but of another job, E-OUT-026 no space), refused (E-SEC-020), configuration (E-CKP-089, E-CKP-090),
    /// in_use (E-OUT-079), checkpoint_damaged (E-CKP-085, E-CKP-088); later io_error, superseded.
    explicit OutputRun(OutputRunOptions options);
    OutputRun(const OutputRun&) = delete;
    OutputRun& operator=(const OutputRun&) = delete;

    /// The output was published before: there is nothing to do.
    [[nodiscard]] const std::optional<Manifest>& complete() const noexcept { return complete_; }

    // While it is not:

    [[nodiscard]] std::uint32_t epoch() const { return epoch_.value().number(); }

    /// Throws Error when another attempt has taken over (superseded, E-OUT-083), or when the run's folder is gone
    /// (io_error, E-OUT-119).
    void check_fence() const { epoch_.value().check_fence(); }
    [[nodiscard]] const PartPlan& plan() const noexcept { return plan_; }

    /// What earlier attempts have left damaged and is computed again, a line each.
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

    /// The same of sealed parts, which were whole once.
    [[nodiscard]] const std::vector<std::string>& damaged_parts() const noexcept { return damaged_parts_; }

    /// What could not be removed although nobody needs it, and does not stand in the way. Known once the run has begun,
    /// more when it is complete.
    [[nodiscard]] const std::vector<ErrorText>& warnings() const noexcept { return warnings_; }

    /// All chunks before this one are committed.
    [[nodiscard]] std::uint64_t first_chunk() const noexcept { return first_chunk_; }

    [[nodiscard]] Committer& writer() { return committer_.value(); }
    [[nodiscard]] const Committer& writer() const { return committer_.value(); }

    /// After the last chunk. Afterwards the run is complete.
    void publish();

    /// For an attempt that ends early: unless something is committed, or there is another attempt, all that it has made
    /// goes, as if the run had never begun, so that a job which was wrong can be changed. What cannot be removed stays.
    /// Nothing may follow.
    void abandon_if_empty();

private:
    template <class Action>
    void explained(Action&& action);
    [[nodiscard]] bool find_complete();
    void begin();
    [[nodiscard]] bool is_finished_by_another();
    void leave_as_complete();
    [[nodiscard]] bool is_alone() const noexcept;
    [[nodiscard]] bool remembers_a_death() const noexcept;
    void warn(std::vector<ErrorText> warnings);

    OutputRunOptions options_;
    PartPlan plan_;
    RunFolders folders_;
    std::optional<Manifest> complete_;
    std::optional<Epoch> epoch_;
    std::optional<Heartbeat> heartbeat_;
    std::optional<Journal> journal_;
    std::optional<Committer> committer_;
    std::vector<std::string> dropped_;
    std::vector<std::string> damaged_parts_;
    std::vector<ErrorText> warnings_;
    std::uint64_t first_chunk_ = 0;
};

}  // namespace sluice
