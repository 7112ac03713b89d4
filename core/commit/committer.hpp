#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "core/commit/adopt.hpp"

namespace sluice {

struct CommitPolicy {
    std::chrono::nanoseconds interval = std::chrono::seconds(2);  ///< A chunk waits so long to be committed.
    std::uint64_t bytes = std::uint64_t{256} << 20;               ///< Or until so many wait.
    Durability durability = Durability::node;
    std::function<Instant()> now = [] { return Clock::now(); };
    /// Called before the attempt's first commit, and before it publishes: throws an Error where what the results were
    /// made of is no more what the run's identity says. Then nothing of it is committed, or published.
    std::function<void()> check_sources = [] {};
};

/// The one writer of an attempt: takes chunks in order, writes them at once and commits them in groups. First the data
/// is synced, then the entries of the group are written in one go and synced: a chunk counts from then on. One thread,
/// but for chunks_committed(). After a failure nothing may be called any more: the kernel may have dropped data, and a
/// second sync would not say so.
///
/// Failures are Errors: io_error with the path, errno's text and how many chunks are committed, or superseded
/// (E-OUT-083).
class Committer {
public:
    /// Everything outlives it. `adopted` is what the attempt has begun with.
    Committer(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan, FileHeader header, Adopted adopted,
              CommitPolicy policy);

    /// The chunk that has to come next.
    [[nodiscard]] std::uint64_t next_chunk() const noexcept { return next_; }

    /// Takes chunk next_chunk(); commits when it is time.
    void append(const ChunkBytes& chunk);

    /// Commits what waits.
    void commit();

    /// How long until what waits is due to be committed, though no chunk comes; nullopt: nothing waits.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const;

    /// Chunks that no end of this process can take away. Safe from any thread.
    [[nodiscard]] std::uint64_t chunks_committed() const noexcept { return committed_.load(std::memory_order_acquire); }

    /// Items without a result, of all chunks so far, earlier attempts' included.
    [[nodiscard]] const std::vector<std::uint64_t>& failed_items() const noexcept { return failed_items_; }

    /// After the last chunk: all parts.
    [[nodiscard]] std::vector<SealedPart> finish();

private:
    template <class Action>
    void guarded(Action&& action);
    void open_part(std::uint32_t part);
    void sync_and_record();
    void seal();
    void prepare_commit();
    [[nodiscard]] bool is_due() const;

    const AttemptFolder& attempt_;
    Journal& journal_;
    const PartPlan& plan_;
    FileHeader header_;
    CommitPolicy policy_;
    std::vector<SealedPart> sealed_;
    std::optional<PartWriter> open_;
    std::vector<std::uint64_t> failed_items_;
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
