#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "core/commit/adopt.hpp"
#include "core/commit/assembly.hpp"

namespace sluice {

struct CommitPolicy {
    std::chrono::nanoseconds interval = std::chrono::seconds(2);  ///< Maximum time a chunk waits to be committed.
    std::uint64_t bytes = std::uint64_t{256} << 20;               ///< Maximum bytes waiting to be committed.
    Durability durability = Durability::node;
    std::function<Instant()> now = [] { return Clock::now(); };
    /// Called before the attempt's first commit and before it publishes. Throws Error if input or weights no longer
    /// match the run's identity; then nothing is committed or published.
    std::function<void()> check_sources = [] {};
};

/// The single writer of an attempt: takes chunks in order, writes them at once and commits them in groups. A commit
/// syncs the data, then appends the group's journal entries and syncs them: from then on the chunks are committed. Used
/// by one thread, except chunks_committed(). No member may be called after a failure: the kernel may have dropped data,
/// which a second sync would not report.
///
/// Failures are Errors: io_error with the path, errno's text and how many chunks are committed, or superseded
/// (E-OUT-083).
class Committer {
public:
    /// The references outlive this object. `adopted` is what the attempt took over at its start.
    Committer(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan, FileHeader header, Adopted adopted,
              CommitPolicy policy);

    /// The chunk that append() expects next.
    [[nodiscard]] std::uint64_t next_chunk() const noexcept { return next_; }

    /// Writes chunk next_chunk(); commits if a commit is due.
    void append(const ChunkBytes& chunk);

    /// Commits all waiting chunks.
    void commit();

    /// Time until waiting chunks must be committed even if no further chunk arrives; nullopt if none wait.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const;

    /// Number of chunks that survive any end of this process. Safe from any thread.
    [[nodiscard]] std::uint64_t chunks_committed() const noexcept { return committed_.load(std::memory_order_acquire); }

    /// Call after the last chunk. Returns all parts.
    [[nodiscard]] std::vector<SealedPart> finish();

    /// After finish(): of an output of several parts in one file, that file, to be finished; else null.
    [[nodiscard]] Assembly* assembly() { return assembly_ ? &*assembly_ : nullptr; }

private:
    template <class Action>
    void guarded(Action&& action);
    void open_part(std::uint32_t part);
    void sync_and_record();
    void seal();
    void assemble();
    void record(Durability durability);
    void prepare_commit();
    [[nodiscard]] bool is_due() const;

    const AttemptFolder& attempt_;
    Journal& journal_;
    const PartPlan& plan_;
    FileHeader header_;
    CommitPolicy policy_;
    std::vector<SealedPart> sealed_;
    std::optional<Assembly> assembly_;  // with all of sealed_ but the parts that assemble() still adds
    std::size_t assembled_ = 0;
    std::optional<PartWriter> open_;
    std::uint64_t next_;
    std::atomic<std::uint64_t> committed_;
    std::vector<JournalEntry> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    Instant waiting_since_{};
    bool new_file_ = false;       // its name is not durable yet
    bool has_committed_ = false;  // this attempt
    bool failed_ = false;
};

}  // namespace sluice
