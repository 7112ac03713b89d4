#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/grant_book.hpp"
#include "core/chunk_grid.hpp"
#include "core/clock.hpp"
#include "core/device/device_queues.hpp"
#include "core/input/read_ahead.hpp"
#include "core/modes.hpp"
#include "core/output/ordered_results.hpp"

namespace sluice {

/// A device driver's slot waiting for a chunk.
struct Requester {
    int rank = 0;
    std::uint32_t device = 0;  ///< Index on that rank.
    std::uint32_t slot = 0;
};

/// A chunk granted to its requester; chunk.count == 0: end of input.
struct Grant {
    Requester to{};
    Chunk chunk{};
    std::span<const std::byte> items{};  ///< Unchanged until release(chunk.id).
};

struct ChunkServerOptions {
    Distribution distribution = Distribution::pull;
    std::vector<std::uint32_t> devices_of_rank{};
    std::uint32_t depth = 1;  ///< Most open requests per device.
    std::uint32_t lag = 0;    ///< Model::lag() of the devices' models.
};

/// Assigns chunks to requesters and tracks the results. No I/O, MPI, lock or allocation after construction;
/// single-threaded. All arguments outlive it.
class ChunkServer {
public:
    /// The grid ends where `input` does: ReadAhead::items().
    ChunkServer(const ChunkGrid& grid, ReadAhead& input, OrderedResults& results, const ChunkServerOptions& options);

    /// Queues a request for a chunk; served in order of arrival.
    void request(const Requester& from);

    /// Notes a message from `rank`.
    void heard(int rank) noexcept { book_.heard(rank); }

    /// The outputs of chunk `id` are known: it is not granted. Call before the first grant.
    void know(std::uint64_t id, std::vector<std::byte> outputs) { known_.emplace(id, std::move(outputs)); }

    /// The next request that can be answered now, in order per device. With Distribution::pull a request stays queued
    /// while its device has to wait for others (has_to_wait()), which changes only as chunks are granted and arrive.
    /// Throws StageError when reading or writing has failed.
    [[nodiscard]] std::optional<Grant> next_grant(Instant now = Clock::now());

    /// The items of a granted chunk were sent; their memory may be reused.
    void release(const Chunk& chunk) { input_.release(chunk.id); }

    /// Destination of the outputs of `chunk`. Throws ContractViolation unless `rank` holds it.
    [[nodiscard]] std::span<std::byte> place(const Chunk& chunk, int rank);

    /// The outputs are in place; `checksum` was computed when they left the device.
    void arrived(const Chunk& chunk, int rank, std::uint64_t checksum, Instant now = Clock::now());

    /// Ends the run early: from now on only chunks before the highest granted one are granted, so that all results in
    /// flight can be written in order.
    void drain() noexcept { end_ = highest_granted_; }

    /// Chunks before this id will be written: all, or fewer after drain(). Becomes less when the input's end is known.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

    /// Whether every chunk before end() was written.
    [[nodiscard]] bool all_written() const { return chunks_written() == end_; }
    [[nodiscard]] std::uint64_t chunks_written() const { return results_.chunks_written(); }

    [[nodiscard]] const ChunkGrid& grid() const noexcept { return grid_; }

    /// For monitoring; readable from any thread.
    [[nodiscard]] GrantBook& book() noexcept { return book_; }
    [[nodiscard]] const GrantBook& book() const noexcept { return book_; }

private:
    struct Waiting {
        Requester who{};
        std::uint32_t device_index = 0;  // index over all ranks
    };

    void take_end();
    [[nodiscard]] std::optional<std::span<const std::byte>> take(std::uint64_t id);
    [[nodiscard]] bool take_known(std::uint64_t id, std::uint32_t device_index);
    void count_grant(std::uint64_t id, std::uint32_t device_index);
    [[nodiscard]] std::optional<std::uint64_t> next_chunk_of(std::uint32_t device_index) const;
    [[nodiscard]] bool has_to_wait(std::uint32_t device_index) const;

    ChunkGrid grid_;
    ReadAhead& input_;
    OrderedResults& results_;
    Distribution distribution_;
    std::vector<std::uint32_t> first_device_of_rank_;
    std::uint32_t devices_ = 0;
    GrantBook book_;
    DeviceQueues queues_;
    std::map<std::uint64_t, std::vector<std::byte>> known_;
    std::vector<Waiting> waiting_;  // oldest first; capacity for all slots
    std::uint64_t end_ = 0;
    std::uint64_t highest_granted_;               // plus one
    std::uint64_t next_pulled_;                   // pull: the next chunk
    std::vector<std::uint64_t> granted_fixed_;    // fixed: chunks granted to each device so far
    std::vector<std::uint64_t> blocked_in_pass_;  // the last pass in which each device had to wait
    std::uint64_t pass_ = 0;
};

}  // namespace sluice
