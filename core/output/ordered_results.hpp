#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/doorbell.hpp"
#include "core/output/output_writer.hpp"
#include "core/trace/activities.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Where a chunk's outputs come from, and what they were there.
struct OutputsOrigin {
    int rank = 0;
    std::uint64_t checksum = 0;  ///< XXH3-64 of them as they left the device.
};

/// Puts results that come in any order into item order: a window of chunks in memory and a thread that writes the
/// oldest. One thread places results; that takes no lock and allocates nothing.
class OrderedResults {
public:
    /// From grid.begin() on. `writer`, `bell` and `activity`, where its thread says what it is at, outlive it; `bell`
    /// is rung whenever a chunk was written, and at a failure. `window` chunks of `output_bytes` an item are held at
    /// most.
    OrderedResults(OutputWriter& writer, const ChunkGrid& grid, std::uint32_t output_bytes, std::uint32_t window,
                   Doorbell& bell, Activity* activity = nullptr);
    ~OrderedResults();
    OrderedResults(const OrderedResults&) = delete;
    OrderedResults& operator=(const OrderedResults&) = delete;

    /// Chunks that it holds at most.
    [[nodiscard]] std::uint32_t window() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

    /// Whether there is room for chunk `id`: it may be handed out.
    [[nodiscard]] bool has_room(std::uint64_t id) const;

    /// Where the outputs of a chunk go, for which there is room.
    [[nodiscard]] std::span<std::byte> place(std::uint64_t id);

    /// The outputs of chunk `id` are in their place. They are compared with `origin` before they are written. Throws
    /// ContractViolation when they came before.
    void arrived(std::uint64_t id, const OutputsOrigin& origin);

    /// From now on the writer commits what it has written whenever it would wait, without regard to when that is due.
    void hurry();

    /// Ends the writer's thread, once it has written what is there in order. The output is the caller's then.
    void stop() { join(); }

    /// The chunks before this one are written. Throws StageError (write) once the writer has failed.
    [[nodiscard]] std::uint64_t chunks_written() const;

    /// Items written so far; for progress, from any thread.
    [[nodiscard]] std::uint64_t items_written() const noexcept { return items_.load(std::memory_order_relaxed); }

    /// Only after all chunks were written, or the destructor's thread has ended.
    [[nodiscard]] ThreadTrace take_trace();

    /// What the writer's thread has cost; after take_trace().
    [[nodiscard]] const ThreadUsage& usage() const noexcept { return usage_; }

    /// The same of what was written so far; from any thread.
    [[nodiscard]] ThreadTrace trace_so_far() const { return trace_; }

private:
    struct alignas(64) Place {
        std::atomic<std::uint64_t> turn{0};  // 2g: open for its g-th chunk; 2g + 1: holds its outputs
        OutputsOrigin origin;
        std::vector<std::byte> outputs;
    };

    [[nodiscard]] Place& place_of(std::uint64_t id) { return places_[id % places_.size()]; }
    [[nodiscard]] std::size_t bytes_of(std::uint64_t id) const;
    void write_chunks();
    [[nodiscard]] bool wait_until_arrived(const Place& place, std::uint64_t full_turn);
    [[nodiscard]] bool write_next(std::uint64_t id);
    void join();

    OutputWriter& writer_;
    ChunkGrid grid_;
    std::uint32_t output_bytes_;
    Doorbell& bell_;
    Doorbell arrivals_;
    std::vector<Place> places_;
    Activity own_activity_;
    Activity& activity_;
    ThreadTrace trace_;
    ThreadUsage usage_;
    std::atomic<std::uint64_t> written_;
    std::atomic<std::uint64_t> items_{0};
    std::atomic<bool> hurrying_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace sluice
