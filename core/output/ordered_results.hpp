#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/output/output_writer.hpp"
#include "core/sync/doorbell.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Rank that computed a chunk's outputs, and their checksum there.
struct OutputsOrigin {
    int rank = 0;
    std::uint64_t checksum = 0;  ///< XXH3-64 of the outputs as they left the device.
};

/// Reorders results into item order: a window of chunks in memory, and a thread that writes the oldest. One thread
/// places results, without locks or allocation.
class OrderedResults {
public:
    /// Empty, with memory reserved for the writing of all chunks of `grid`: the largest trace of a run. Throws Error
    /// (out_of_memory) if they are too many.
    [[nodiscard]] static ThreadTrace make_trace(const ChunkGrid& grid);

    /// Starts at grid.begin(), and goes on to the chunk that the grid ends with or to stop(): chunks may be fewer than
    /// the grid has, and the last one shorter. `writer`, `bell` and `activity` (what the writing thread is doing)
    /// outlive this object. `bell` is rung when a chunk has been written and on failure. Holds at most `window` chunks,
    /// `output_bytes` per item.
    OrderedResults(OutputWriter& writer, const ChunkGrid& grid, std::uint32_t output_bytes, std::uint32_t window,
                   Doorbell& bell, Activity* activity = nullptr);
    ~OrderedResults();
    OrderedResults(const OrderedResults&) = delete;
    OrderedResults& operator=(const OrderedResults&) = delete;

    /// Maximum number of chunks held.
    [[nodiscard]] std::uint32_t window() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

    /// Whether chunk `id` fits into the window, so that it may be handed out.
    [[nodiscard]] bool has_room(std::uint64_t id) const;

    /// Notes that so many items of chunk `id` are cut (ItemSource::read); has_room(id) must hold.
    void note_cut(std::uint64_t id, std::uint32_t items);

    /// Memory for the outputs of `chunk`; has_room(chunk.id) must hold.
    [[nodiscard]] std::span<std::byte> place(const Chunk& chunk);

    /// Reports that the place of chunk `id` holds its outputs. They are checked against `origin` before they are
    /// written. Throws ContractViolation if they arrived before.
    void arrived(std::uint64_t id, const OutputsOrigin& origin);

    /// From now on the writer commits whenever it would otherwise wait, even if no commit is due.
    void hurry();

    /// Ends the writing thread once it has written all chunks that are next in order. Afterwards the caller may use the
    /// writer.
    void stop() { join(); }

    /// All chunks before this one are written. Throws StageError (write) if the writer has failed.
    [[nodiscard]] std::uint64_t chunks_written() const;

    /// Items written so far; for progress, from any thread.
    [[nodiscard]] std::uint64_t items_written() const noexcept { return items_.load(std::memory_order_relaxed); }

    /// How many of items_written() are cut.
    [[nodiscard]] std::uint64_t cut_written() const noexcept { return cut_.load(std::memory_order_relaxed); }

    /// Only after all chunks are written or the thread has ended.
    [[nodiscard]] ThreadLog take_log();

    /// Trace so far. Safe from any thread.
    [[nodiscard]] ThreadTrace trace_so_far() const { return log_.trace; }

private:
    struct alignas(64) Place {
        std::atomic<std::uint64_t> turn{0};  // 2g: open for its g-th chunk; 2g + 1: holds its outputs
        OutputsOrigin origin;
        Chunk chunk{};
        std::uint32_t cut = 0;  // of its items
        std::vector<std::byte> outputs;
    };

    [[nodiscard]] Place& place_of(std::uint64_t id) { return places_[id % places_.size()]; }
    [[nodiscard]] std::size_t bytes_of(const Chunk& chunk) const { return std::size_t{chunk.count} * output_bytes_; }
    void write_chunks();
    [[nodiscard]] bool wait_until_arrived(const Place& place, std::uint64_t full_turn);
    [[nodiscard]] bool write_next(std::uint64_t id);
    void add_commit(const Interval& busy);
    void join();

    OutputWriter& writer_;
    ChunkGrid grid_;
    std::uint32_t output_bytes_;
    Doorbell& bell_;
    Doorbell arrivals_;
    std::vector<Place> places_;
    Activity own_activity_;
    Activity& activity_;
    ThreadLog log_;
    ThreadSpan uncommitted_;  // items and bytes since the last commit
    std::atomic<std::uint64_t> written_;
    std::atomic<std::uint64_t> items_{0};
    std::atomic<std::uint64_t> cut_{0};
    std::atomic<bool> hurrying_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace sluice
