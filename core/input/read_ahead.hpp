#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/input/chunk_parts.hpp"
#include "core/input/item_source.hpp"
#include "core/sync/doorbell.hpp"
#include "core/system/node_memory.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

struct ReadAheadOptions {
    std::uint32_t input_bytes = 0;     ///< Of one item.
    std::uint32_t staged = 8;          ///< Most chunks in memory.
    std::uint32_t readers = 1;         ///< Threads.
    bool on_demand = false;            ///< A chunk is read only once take() has asked for it.
    std::span<std::byte> memory{};     ///< For items, of staged_bytes() bytes; outlives the object. Empty: its own.
    Activities* activities = nullptr;  ///< Where readers report what they are doing; outlives the object.
};

/// What a ReadAhead needs for `staged` chunks of `chunk_items` items.
[[nodiscard]] constexpr std::size_t staged_bytes(std::uint32_t staged, std::uint32_t chunk_items,
                                                 std::uint32_t input_bytes) noexcept {
    return std::size_t{staged} * chunk_items * input_bytes;
}

/// Reader threads that keep the next chunks of an input in memory. All work on parts of the oldest unread chunk, so
/// that it is ready as soon as possible. A single thread takes and releases chunks, without locks or allocation.
class ReadAhead {
public:
    /// Starts at grid.begin(). `source` and `bell` outlive it; `bell` is rung when a chunk becomes ready, when items()
    /// becomes known, and on failure. While `source` is indexed, `grid` may have more items.
    ReadAhead(const ItemSource& source, const ChunkGrid& grid, const ReadAheadOptions& options, Doorbell& bell);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Number of the source's items; until readers have come to its end, the grid's.
    [[nodiscard]] std::uint64_t items() const noexcept { return items_.load(std::memory_order_acquire); }

    /// Items of chunk `id`, which is not released yet; nullopt: not read yet. After a failure, throws the StageError
    /// (read) of the first chunk that cannot be read, once all readers have ended, or the Error of the source's index.
    [[nodiscard]] std::optional<std::span<const std::byte>> take(std::uint64_t id);

    /// How many items of chunk `id` are cut (ItemSource::read). Between take() and release().
    [[nodiscard]] std::uint32_t cut_texts(std::uint64_t id) const {
        return bin_of(id).cut.load(std::memory_order_relaxed);
    }

    /// The items of chunk `id` are no longer needed. Throws ContractViolation when it is not there, or was released.
    void release(std::uint64_t id);

    /// Ends the readers, also before the end of the input.
    void join();

    /// One per reader. Call after the input was read to its end, or readers have ended because of a failure.
    [[nodiscard]] std::vector<ThreadLog> take_logs();

    /// The traces so far; from any thread.
    [[nodiscard]] std::vector<ThreadTrace> traces_so_far() const;

private:
    struct alignas(64) Bin {
        std::atomic<std::uint64_t> turn{0};     // 2g: free for its g-th chunk; 2g + 1: holds it
        std::atomic<std::uint32_t> missing{0};  // parts of that chunk that are not read yet
        std::atomic<std::uint32_t> cut{0};      // ItemSource::read
        std::span<std::byte> items;
    };

    [[nodiscard]] Bin& bin_of(std::uint64_t id) { return bins_[id % bins_.size()]; }
    [[nodiscard]] const Bin& bin_of(std::uint64_t id) const { return bins_[id % bins_.size()]; }
    class ChunkSpan;

    void read_chunks(ThreadLog& log, Activity& activity);
    void read_until_end(ChunkSpan& span, Activity& activity);
    [[nodiscard]] bool wait_until_free(std::uint64_t part, std::uint64_t chunk);
    [[nodiscard]] bool wait_until_known(ChunkPart& part);
    void complete_part(std::uint64_t id);
    void fail(std::uint64_t part, std::exception_ptr cause);

    const ItemSource& source_;
    ChunkParts parts_;
    std::uint64_t part_count_;
    std::uint32_t input_bytes_;
    Doorbell& bell_;
    Doorbell released_;
    NodeMemory own_memory_;
    std::vector<Bin> bins_;
    std::vector<ThreadLog> logs_;  // each written by its reader until that ends
    Activities own_activities_;
    std::atomic<std::uint64_t> next_;    // next part that no reader has taken
    std::atomic<std::uint64_t> wanted_;  // chunks before this one may be read
    std::atomic<std::uint64_t> items_;
    std::atomic<bool> stopping_{false};
    std::stop_source nobody_waits_;         // for the source's index any more
    std::atomic<bool> failed_{false};       // all readers have ended: no earlier part can fail any more
    std::atomic<std::uint32_t> reading_;    // readers that have not ended
    std::atomic<std::uint64_t> first_bad_;  // the lowest part that failed so far; nobody begins a later one
    std::mutex failure_mutex_;              // readers only, on their way out
    std::exception_ptr failure_;
    std::vector<std::thread> readers_;
};

}  // namespace sluice
