#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/doorbell.hpp"
#include "core/input/chunk_parts.hpp"
#include "core/input/item_source.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

struct ReadAheadOptions {
    std::uint32_t input_bytes = 0;     ///< Of one item.
    std::uint32_t staged = 8;          ///< Chunks in memory at most.
    std::uint32_t readers = 1;         ///< Threads.
    bool on_demand = false;            ///< A chunk is read once take() has asked for it, in place of ahead.
    Activities* activities = nullptr;  ///< Where they say what they are at; outlives the object.
};

/// Reader threads that keep the next chunks of an input in memory, ahead of whoever hands them out. They share the work
/// of a chunk, so that the oldest one is there as soon as it can be. One thread takes and releases chunks; that takes
/// no lock and allocates nothing.
class ReadAhead {
public:
    /// From grid.begin() on. `source` and `bell` outlive it; `bell` is rung at each chunk that becomes ready and at a
    /// failure.
    ReadAhead(const ItemSource& source, const ChunkGrid& grid, const ReadAheadOptions& options, Doorbell& bell);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// The items of a chunk that was not released yet, or nothing if they are not there yet. Throws StageError (read)
    /// of the first chunk that cannot be read, once all readers have ended because of it.
    [[nodiscard]] std::optional<std::span<const std::byte>> take(std::uint64_t id);

    /// The chunk's items are not needed any more.
    void release(std::uint64_t id);

    /// One activity a reader. Only after the input was read to its end, or the destructor's threads have ended.
    [[nodiscard]] std::vector<ThreadTrace> take_traces();

    /// One a reader, in the same order; after take_traces().
    [[nodiscard]] std::vector<ThreadUsage> take_usage() { return std::move(usage_); }

    /// The same of what they have read so far; from any thread.
    [[nodiscard]] std::vector<ThreadTrace> traces_so_far() const { return traces_; }

private:
    struct alignas(64) Bin {
        std::atomic<std::uint64_t> turn{0};     // 2g: free for its g-th chunk; 2g + 1: holds it
        std::atomic<std::uint32_t> missing{0};  // parts of that chunk that are not read yet
        std::vector<std::byte> items;
    };

    [[nodiscard]] Bin& bin_of(std::uint64_t id) { return bins_[id % bins_.size()]; }
    [[nodiscard]] const Bin& bin_of(std::uint64_t id) const { return bins_[id % bins_.size()]; }
    class ChunkSpan;

    void read_chunks(ThreadTrace& trace, ThreadUsage& usage, Activity& activity);
    void read_until_end(ChunkSpan& span, Activity& activity);
    [[nodiscard]] bool wait_until_free(std::uint64_t part, std::uint64_t chunk);
    void complete_part(std::uint64_t id);
    void fail(std::uint64_t part, std::exception_ptr cause);
    void join();

    const ItemSource& source_;
    ChunkParts parts_;
    std::uint64_t part_count_;
    std::uint32_t input_bytes_;
    Doorbell& bell_;
    Doorbell released_;
    std::vector<Bin> bins_;
    std::vector<ThreadTrace> traces_;
    std::vector<ThreadUsage> usage_;  // each its reader's own until that ends
    Activities own_activities_;
    std::atomic<std::uint64_t> next_;    // part that nobody reads yet
    std::atomic<std::uint64_t> wanted_;  // chunks before this one may be read
    std::atomic<bool> stopping_{false};
    std::atomic<bool> failed_{false};       // all readers have ended: no earlier part can fail any more
    std::atomic<std::uint32_t> reading_;    // readers that have not
    std::atomic<std::uint64_t> first_bad_;  // the lowest part that failed so far; nobody begins a later one
    std::mutex failure_mutex_;              // readers only, on their way out
    std::exception_ptr failure_;
    std::vector<std::thread> readers_;
};

}  // namespace sluice
