#pragma once

#include <cstdint>
#include <optional>

#include "core/chunk.hpp"

namespace sluice {

/// Cuts `items` items into chunks of `chunk_items`; only the last may be shorter. Exact for every count up to 2^64 - 1.
class ChunkGrid {
public:
    /// `chunk_items` >= 1.
    ChunkGrid(std::uint64_t items, std::uint32_t chunk_items);

    [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
    [[nodiscard]] std::uint32_t chunk_items() const noexcept { return chunk_items_; }
    [[nodiscard]] std::uint64_t chunks() const noexcept;

    /// Of the last chunk, when it is shorter than the others; else 0.
    [[nodiscard]] std::uint32_t short_items() const noexcept {
        return static_cast<std::uint32_t>(items_ % chunk_items_);
    }

    /// `id` < chunks().
    [[nodiscard]] Chunk at(std::uint64_t id) const;

    /// What every request past the last chunk gets: count == 0.
    [[nodiscard]] Chunk end() const noexcept { return {chunks(), first_item_ + items_, 0}; }

    /// The chunks from `skipped` <= chunks() on, numbered anew from 0, each with the items that it has here: what is
    /// left of a run that goes on.
    [[nodiscard]] ChunkGrid rest(std::uint64_t skipped) const;

private:
    std::uint64_t first_item_ = 0;
    std::uint64_t items_;
    std::uint32_t chunk_items_;
};

/// The id of the chunk that device `device` of `devices` (all ranks' devices in one row) gets for its request number
/// `request`, from 0, when the split is fixed: device, device + devices, device + 2 devices, ….
/// nullopt: no chunk is left for this device.
[[nodiscard]] std::optional<std::uint64_t> fixed_chunk(const ChunkGrid& grid, std::uint32_t device,
                                                       std::uint32_t devices, std::uint64_t request);

}  // namespace sluice
