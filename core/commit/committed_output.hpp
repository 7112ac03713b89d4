#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/committer.hpp"
#include "core/commit/heartbeat.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/run_folder.hpp"
#include "core/commit/run_identity.hpp"
#include "core/output/output_writer.hpp"
#include "core/output/row_encoder.hpp"

namespace sluice {

struct CommittedOutputOptions {
    std::filesystem::path path{};  ///< As the job names it; with a slash at its end, a folder of parts.
    OutputFormat format = OutputFormat::csv;
    const ItemCodec* codec = nullptr;  ///< Outlives the output.
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::optional<std::uint64_t> chunks_per_part{};  ///< Otherwise parts have about 256 MiB.
    /// What else decides the bytes; format and fields are added.
    std::vector<std::pair<std::string, std::string>> settings{};
    Owner me{};
    ResumeVerify verify = ResumeVerify::open;
    NonfinitePolicy nonfinite = NonfinitePolicy::error;
    CommitPolicy policy{};
    std::chrono::seconds alive_within{60};        ///< How old the heartbeat of a living attempt may be.
    std::chrono::milliseconds heartbeat{10'000};  ///< How often this one gives its own.
    std::vector<std::pair<std::string, std::string>> provenance{};
    /// Hears how many chunks are committed: when the run has begun, and whenever they are more, by the thread that
    /// writes.
    std::function<void(std::uint64_t chunks)> on_commit = [](std::uint64_t) {};
};

enum class OutputState {
    absent,      ///< Nothing is there, or an attempt that ended at once.
    unfinished,  ///< A run that can continue.
    complete,
};

/// What a CommittedOutput would find, with nothing changed. Throws Error as its constructor does, but for what only an
/// attempt notices: one that is alive, too little space, a folder in which nothing can be made.
[[nodiscard]] OutputState look_at_output(const CommittedOutputOptions& options);

/// One attempt at an output that survives its writer, from the first look at what is there to the manifest: every chunk
/// is encoded, written and committed by the protocol of docs/output-protocol.md, and the next attempt with the same
/// options continues it. The destructor removes nothing.
class CommittedOutput final : public OutputWriter {
public:
    /// Begins the run, or continues it with everything that earlier attempts have finished; or finds it complete.
    /// Throws Error, with nothing changed: cannot_create (E-OUT-021, E-OUT-022 something else is there, E-OUT-024
    /// complete, but of another job, E-OUT-026 no space), refused (E-SEC-020), configuration (E-CKP-089, E-CKP-090,
    /// E-OUT-027), in_use (E-OUT-079), checkpoint_damaged (E-CKP-085, E-CKP-088); later io_error, superseded.
    explicit CommittedOutput(CommittedOutputOptions options);

    /// The output was published, by now or before. Null while it is not.
    [[nodiscard]] const Manifest* complete() const noexcept { return complete_ ? &*complete_ : nullptr; }

    /// What could not be removed although nobody needs it, and does not stand in the way. Known once the run has begun,
    /// more when it is complete.
    [[nodiscard]] const std::vector<ErrorText>& warnings() const noexcept { return warnings_; }

    /// Items without a result so far, those of earlier attempts included.
    [[nodiscard]] std::vector<std::uint64_t> failed_items() const;

    // While it is not complete:

    [[nodiscard]] std::uint32_t attempt() const { return attempt_.value().number(); }

    /// Throws Error when another attempt has taken over (superseded, E-OUT-083), or when the run's folder is gone
    /// (io_error, E-OUT-119).
    void check_fence() const { attempt_.value().check_fence(); }

    /// What earlier attempts have left damaged and is computed again, a line each.
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

    /// The same of sealed parts, which were whole once.
    [[nodiscard]] const std::vector<std::string>& damaged_parts() const noexcept { return damaged_parts_; }

    /// All chunks before this one were committed by earlier attempts.
    [[nodiscard]] std::uint64_t first_chunk() const noexcept { return first_chunk_; }

    /// The chunk that has to come next.
    [[nodiscard]] std::uint64_t next_chunk() const { return committer_.value().next_chunk(); }

    /// Chunks that no end of this process can take away. Safe from any thread.
    [[nodiscard]] std::uint64_t chunks_committed() const { return committer_.value().chunks_committed(); }

    /// These items have no result, and what ItemCodec::write_missing() has written stands for it in what append() gets.
    /// In order.
    void leave_out(std::vector<std::uint64_t> items) { left_out_ = std::move(items); }

    /// From now on so many threads make rows of results, append()'s caller one of them.
    void use_encoders(std::uint32_t threads) { rows_.use_threads(threads); }

    /// About how long a row is.
    [[nodiscard]] std::uint64_t estimate_row_bytes() const { return rows_.estimate_row_bytes(options_.items); }

    /// Chunk next_chunk(), whole. With NonfinitePolicy::error throws Error (numeric, E-NUM-081) for one that has a
    /// value which is not finite, when everything before it is committed.
    void append(std::uint32_t count, std::span<const std::byte> outputs) override;
    void commit() override;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const override {
        return committer_.value().time_to_commit();
    }
    void publish() override;

    /// For an attempt that ends early: unless something is committed, or there is another attempt, all that it has made
    /// goes, as if the run had never begun, so that a job which was wrong can be changed. What cannot be removed stays.
    /// Nothing may follow.
    void abandon_if_empty();

    /// What decides the output's bytes, and which attempt this is.
    [[nodiscard]] const RunIdentity& identity() const noexcept { return identity_; }
    [[nodiscard]] const Owner& owner() const noexcept { return options_.me; }

private:
    [[nodiscard]] std::uint64_t count_nonfinite(const Chunk& chunk, std::span<const std::uint64_t> failed,
                                                std::uint64_t all, std::span<const std::byte> outputs);
    void notify_commits();
    template <class Action>
    void explained(Action&& action);
    [[nodiscard]] bool find_complete();
    void begin();
    [[nodiscard]] bool is_finished_by_another();
    void leave_as_complete();
    void warn(std::vector<ErrorText> warnings);

    CommittedOutputOptions options_;
    RowEncoder rows_;
    RunPaths paths_;
    RunIdentity identity_;
    PartPlan plan_;
    RunFolders folders_;
    std::optional<Manifest> complete_;
    std::optional<AttemptFolder> attempt_;
    std::optional<Heartbeat> heartbeat_;
    std::optional<Journal> journal_;
    std::optional<Committer> committer_;
    std::vector<std::string> dropped_;
    std::vector<std::string> damaged_parts_;
    std::vector<ErrorText> warnings_;
    std::uint64_t first_chunk_ = 0;
    std::uint64_t told_ = 0;  // chunks, to on_commit
    std::vector<std::uint64_t> left_out_;
    std::vector<std::byte> salted_;
};

}  // namespace sluice
