#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/committer.hpp"
#include "core/commit/manifest.hpp"
#include "core/commit/run_folder.hpp"
#include "core/commit/run_identity.hpp"
#include "core/output/output_writer.hpp"
#include "core/output/row_encoder.hpp"

namespace sluice {

/// What is known of an input once it has been indexed.
struct CountedItems {
    std::uint64_t items = 0;
    std::vector<PublishedInput> inputs{};  ///< ManifestNotes::inputs
};

enum class UntilCounted : std::uint8_t { ask, wait };

struct CommittedOutputOptions {
    std::filesystem::path path{};  ///< As in the job; with a trailing slash, a folder of parts.
    OutputFormat format = OutputFormat::csv;
    const ItemCodec* codec = nullptr;  ///< Outlives the output.
    std::uint64_t items = 0;           ///< An estimate where `count` is set.
    std::uint32_t chunk_items = 1;
    /// Set where the input is still being indexed. nullopt: not known yet or, after a wait, the run is to end. Throws
    /// the index's Error after a wait. Called by whoever uses the output.
    std::function<std::optional<CountedItems>(UntilCounted)> count{};
    std::uint64_t most_held = std::uint64_t{64} << 20;  ///< Bytes of outputs kept in memory until then, about.
    std::optional<std::uint64_t> chunks_per_part{};     ///< nullopt: parts of about 256 MiB.
    /// Further settings that determine the bytes; format and fields are added.
    std::vector<std::pair<std::string, std::string>> settings{};
    Owner me{};
    ResumeVerify verify = ResumeVerify::open;
    NonfinitePolicy nonfinite = NonfinitePolicy::error;
    CommitPolicy policy{};
    std::chrono::seconds alive_within{60};        ///< Maximum age of a running attempt's heartbeat.
    std::chrono::milliseconds heartbeat{10'000};  ///< Interval of this attempt's heartbeat.
    AttemptFolder::OnWait on_wait{};              ///< Empty: an owner on another host that was killed is in use, too.
    ManifestNotes notes{};
    /// Called by the writing thread with the number of committed chunks, and of all: when the run has begun, and on
    /// each increase.
    std::function<void(std::uint64_t chunks, std::uint64_t all)> on_commit = [](std::uint64_t, std::uint64_t) {};
};

/// What determines the bytes of the output that `options` describe.
[[nodiscard]] RunIdentity identity_of(const CommittedOutputOptions& options);

enum class OutputState {
    absent,      ///< Nothing exists, or an attempt that ended at once.
    unfinished,  ///< A run that can be resumed.
    complete,
};

/// The state that a CommittedOutput would find; changes nothing. Throws Error like its constructor, except for what
/// only an attempt notices: another running attempt, a folder that cannot be written to.
[[nodiscard]] OutputState look_at_output(const CommittedOutputOptions& options);

/// One attempt at a crash-safe output, from the first look at existing files to the manifest: every chunk is encoded,
/// written and committed by the protocol of docs/commit-protocol.md, and the next attempt with the same options resumes
/// it. The destructor removes nothing.
///
/// While an input is still being indexed, a new run has an attempt, but no identity, for which the number of items is
/// needed: outputs are held in memory, and nothing is written or committed. What has been begun before is resumed only
/// once the input has been indexed.
class CommittedOutput final : public OutputWriter {
public:
    /// Begins the run, resumes it after what earlier attempts have committed, or finds it complete. Throws Error
    /// without changing anything: cannot_create (E-OUT-021, E-OUT-022 something else is there, E-OUT-024 complete, but
    /// of another job, E-OUT-026 no space, E-OUT-073 a file has taken the output's name since the run began), refused
    /// (E-SEC-020), configuration (E-CKP-089, E-CKP-090, E-OUT-027), in_use (E-OUT-079), checkpoint_damaged
    /// (E-CKP-085, E-CKP-088); later io_error, superseded.
    explicit CommittedOutput(CommittedOutputOptions options);

    /// Manifest of the published output; null while it is not published.
    [[nodiscard]] const Manifest* complete() const noexcept { return complete_ ? &*complete_ : nullptr; }

    /// Unneeded files that could not be removed and do no harm. Filled when the run begins, and again when it is
    /// complete.
    [[nodiscard]] const std::vector<ErrorText>& warnings() const noexcept { return warnings_; }

    /// Items without a result so far, including those of earlier attempts. Safe from any thread.
    [[nodiscard]] std::vector<std::uint64_t> failed_items() const;

    /// Whether the number of items is known, and with it identity().
    [[nodiscard]] bool is_counted() const noexcept { return complete_ || committer_; }

    // While it is not complete:

    [[nodiscard]] std::uint32_t attempt() const { return attempt_.value().number(); }

    /// Throws Error if another attempt has taken over (superseded, E-OUT-083) or the run's folder is gone (io_error,
    /// E-OUT-119).
    void check_fence() const { attempt_.value().check_fence(); }

    /// One line for each piece that earlier attempts left damaged and that is computed again.
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

    /// The same for sealed parts, which were intact when sealed.
    [[nodiscard]] const std::vector<std::string>& damaged_parts() const noexcept { return damaged_parts_; }

    /// First chunk of this attempt: all before it were committed by earlier ones.
    [[nodiscard]] std::uint64_t first_chunk() const noexcept { return first_chunk_; }

    /// The chunk that append() expects next.
    [[nodiscard]] std::uint64_t next_chunk() const {
        return (committer_ ? committer_->next_chunk() : first_chunk_) + held_.size();
    }

    /// Number of chunks that survive any end of this process. Safe from any thread.
    [[nodiscard]] std::uint64_t chunks_committed() const;

    /// Sets the items, in ascending order, that have no result: append() gets ItemCodec::write_missing()'s bytes for
    /// them.
    void leave_out(std::vector<std::uint64_t> items) { left_out_ = std::move(items); }

    /// Encodes rows with `threads` threads from now on, including append()'s caller.
    void use_encoders(std::uint32_t threads) { rows_.use_threads(threads); }

    /// Estimated bytes of a row.
    [[nodiscard]] std::uint64_t estimate_row_bytes() const { return rows_.estimate_row_bytes(options_.items); }

    /// Appends all of chunk next_chunk(). With NonfinitePolicy::error throws Error (numeric, E-NUM-081) if it holds a
    /// non-finite value, after committing everything before it.
    void append(std::uint32_t count, std::span<const std::byte> outputs) override;
    void commit() override;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const override {
        return committer_ ? committer_->time_to_commit() : std::nullopt;
    }
    void publish() override;

    /// For an attempt that ends early: removes everything it has made, as if the run had never begun, unless something
    /// is committed or another attempt exists. So a wrong job can be corrected. Files that cannot be removed stay. May
    /// be called while another thread appends, which then begins to write nothing; no member may be called afterwards.
    void abandon_if_empty();

    /// For an attempt that cannot begin: notes why, so that it does not count as one that died, and abandons it. If
    /// there is none yet, after an error of files removes what the run has made, unless other attempts exist.
    void give_up(const std::exception_ptr& why);

    /// What determines the output's bytes; its numbers are estimates until is_counted(). Safe from any thread.
    [[nodiscard]] RunIdentity identity() const;
    [[nodiscard]] const Owner& owner() const noexcept { return options_.me; }

private:
    struct HeldChunk {
        std::uint32_t items = 0;
        std::vector<std::byte> outputs{};
    };

    [[nodiscard]] std::uint64_t count_nonfinite(const Chunk& chunk, std::span<const std::uint64_t> failed,
                                                std::uint64_t all, std::span<const std::byte> outputs);
    void notify_commits();
    template <class Action>
    void explained(Action&& action);
    [[nodiscard]] bool find_complete();
    void find_or_begin();
    void begin();
    void begin_uncounted();
    void acquire();
    void adopt_earlier();
    [[nodiscard]] bool find_count(UntilCounted until);
    void find_count_now();
    [[nodiscard]] bool settle(UntilCounted until);
    void write(std::uint32_t count, std::span<const std::byte> outputs);
    void write_held(std::size_t most);
    [[nodiscard]] bool is_finished_by_another();
    void leave_as_complete(Manifest manifest);
    void warn(std::vector<ErrorText> warnings);

    CommittedOutputOptions options_;
    RowEncoder rows_;
    RunPaths paths_;
    mutable std::mutex mutex_;  // of what other threads read: the identity, the failed items, committer and manifest
    std::mutex settling_;       // held while the run gets its identity, or is abandoned
    bool is_abandoned_ = false;
    RunIdentity identity_;
    PartPlan plan_;
    RunFolders folders_;
    std::optional<Manifest> complete_;
    std::optional<AttemptFolder> attempt_;
    std::jthread heartbeat_;
    std::optional<Journal> journal_;
    std::optional<Committer> committer_;
    std::vector<std::uint64_t> failed_items_;
    std::vector<std::string> dropped_;
    std::vector<std::string> damaged_parts_;
    std::vector<ErrorText> warnings_;
    std::uint64_t first_chunk_ = 0;
    std::uint64_t told_ = 0;  // chunks, to on_commit
    std::vector<std::uint64_t> left_out_;
    std::deque<HeldChunk> held_;  // not written yet
    std::uint64_t held_bytes_ = 0;
    std::vector<std::byte> salted_;
};

}  // namespace sluice
