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
#include "core/input/read_ahead.hpp"
#include "core/modes.hpp"
#include "core/output/ordered_results.hpp"

namespace sluice {

/// A device driver's slot that waits for a chunk.
struct Requester {
    int rank = 0;
    std::uint32_t device = 0;  ///< Of that rank.
    std::uint32_t slot = 0;
};

/// A chunk on its way to who asked for it; the end of the input when chunk.count == 0.
struct Grant {
    Requester to{};
    Chunk chunk{};
    std::span<const std::byte> items{};  ///< Unchanged until release(chunk.id).
};

struct ChunkServerOptions {
    Distribution distribution = Distribution::pull;
    std::vector<std::uint32_t> devices_of_rank{};
    std::uint32_t depth = 1;  ///< Requests that one device has open at most.
};

/// Decides which chunk goes to whom, and knows what has come back. No I/O, no MPI, no lock and no allocation after
/// construction; one thread. All arguments outlive it.
class ChunkServer {
public:
    ChunkServer(const ChunkGrid& grid, ReadAhead& input, OrderedResults& results, const ChunkServerOptions& options);

    /// Someone asks for a chunk. Requests are served in the order in which they came.
    void request(const Requester& from);

    /// `rank` has said something.
    void heard(int rank) noexcept { book_.heard(rank); }

    /// The outputs of a chunk are known already: nobody is asked for it. Before the first grant.
    void know(std::uint64_t id, std::vector<std::byte> outputs) { known_.emplace(id, std::move(outputs)); }

    /// The next request that can be answered now; a device's requests are answered in their order. Throws StageError
    /// when reading or writing has failed.
    [[nodiscard]] std::optional<Grant> next_grant();

    /// The items of a granted chunk have left; their memory may be used again.
    void release(const Chunk& chunk) { input_.release(chunk.id); }

    /// Where the outputs of `chunk` go, which `rank` was granted. Throws ContractViolation for any other chunk.
    [[nodiscard]] std::span<std::byte> place(const Chunk& chunk, int rank);

    /// They are there; `checksum` is that of the outputs as they left the device.
    void arrived(const Chunk& chunk, int rank, std::uint64_t checksum);

    /// The run is to end early: no chunk is granted any more but those that lie before one which is under way already,
    /// so that all results in flight can be written in order.
    void drain() noexcept { end_ = highest_granted_; }

    /// The chunks before this one will be written: all of them, or after drain() fewer.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

    /// Every chunk before end() was written.
    [[nodiscard]] bool all_written() const { return chunks_written() == end_; }
    [[nodiscard]] std::uint64_t chunks_written() const { return results_.chunks_written(); }

    [[nodiscard]] const ChunkGrid& grid() const noexcept { return grid_; }

    /// For those who watch, on any thread.
    [[nodiscard]] const GrantBook& book() const noexcept { return book_; }

private:
    struct Waiting {
        Requester who{};
        std::uint32_t device_index = 0;  // over all ranks
    };

    [[nodiscard]] bool take_known(std::uint64_t id, std::uint32_t device_index);
    void count_grant(std::uint64_t id, std::uint32_t device_index);
    [[nodiscard]] std::optional<std::uint64_t> next_chunk_of(std::uint32_t device_index) const;

    ChunkGrid grid_;
    ReadAhead& input_;
    OrderedResults& results_;
    Distribution distribution_;
    std::vector<std::uint32_t> first_device_of_rank_;
    std::uint32_t devices_ = 0;
    GrantBook book_;
    std::map<std::uint64_t, std::vector<std::byte>> known_;
    std::vector<Waiting> waiting_;  // oldest first; capacity for every slot there is
    std::uint64_t end_ = 0;
    std::uint64_t highest_granted_;               // and one more
    std::uint64_t next_pulled_;                   // pull: the next chunk
    std::vector<std::uint64_t> granted_fixed_;    // fixed: chunks that each device got so far
    std::vector<std::uint64_t> blocked_in_pass_;  // fixed: the last pass in which each device had to wait
    std::uint64_t pass_ = 0;
};

}  // namespace sluice
