#pragma once

#include <cstdint>
#include <optional>

#include "core/chunk.hpp"

namespace sluice {

/// Cuts `items` items into chunks of `chunk_items`; only the last may be shorter. Exact for every count up to 2^64 - 1.
/// A resumed run has the same chunks with the same ids and starts at one of them.
class ChunkGrid {
public:
    /// `chunk_items` >= 1.
    ChunkGrid(std::uint64_t items, std::uint32_t chunk_items);

    [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
    [[nodiscard]] std::uint32_t chunk_items() const noexcept { return chunk_items_; }
    [[nodiscard]] std::uint64_t chunks() const noexcept;

    /// The same grid with all chunks before `begin` done; `begin` <= chunks().
    [[nodiscard]] ChunkGrid from(std::uint64_t begin) const;

    /// First chunk still to be done, and number of chunks from there on.
    [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
    [[nodiscard]] std::uint64_t chunks_left() const noexcept { return chunks() - begin_; }
    [[nodiscard]] std::uint64_t items_done() const noexcept;  ///< Before begin().

    /// Items in the last chunk if it is still to be done and shorter than the others; otherwise 0.
    [[nodiscard]] std::uint32_t short_items() const noexcept {
        return chunks_left() == 0 ? 0 : static_cast<std::uint32_t>(items_ % chunk_items_);
    }

    /// `id` < chunks().
    [[nodiscard]] Chunk at(std::uint64_t id) const;

    /// Answer to every request past the last chunk: count == 0.
    [[nodiscard]] Chunk end() const noexcept { return {chunks(), items_, 0}; }

private:
    std::uint64_t begin_ = 0;
    std::uint64_t items_;
    std::uint32_t chunk_items_;
};

/// Id of the chunk for request number `request`, from 0, of device `device` out of `devices` (counted over all ranks)
/// with a static distribution: device, device + devices, device + 2 devices, … from grid.begin() on. nullopt if no
/// chunk is left for this device.
[[nodiscard]] std::optional<std::uint64_t> fixed_chunk(const ChunkGrid& grid, std::uint32_t device,
                                                       std::uint32_t devices, std::uint64_t request);

}  // namespace sluice
