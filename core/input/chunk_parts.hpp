#pragma once

#include <cstdint>

#include "core/chunk_grid.hpp"

namespace sluice {

/// Some consecutive items of a chunk.
struct ChunkPart {
    Chunk chunk{};
    std::uint32_t begin = 0;  ///< Counted from the chunk's first item.
    std::uint32_t count = 0;

    [[nodiscard]] std::uint64_t first() const noexcept { return chunk.first + begin; }
    friend bool operator==(const ChunkPart&, const ChunkPart&) = default;
};

/// Cuts every chunk of a grid into parts of `part_items`, numbered in the order of their items; only the last of a
/// chunk may be shorter. Exact for every grid.
class ChunkParts {
public:
    /// `part_items` >= 1.
    ChunkParts(const ChunkGrid& grid, std::uint32_t part_items);

    [[nodiscard]] const ChunkGrid& grid() const noexcept { return grid_; }

    /// Number of parts of all chunks, and of those before grid().begin().
    [[nodiscard]] std::uint64_t parts() const;
    [[nodiscard]] std::uint64_t parts_done() const;

    /// `number` < parts().
    [[nodiscard]] ChunkPart at(std::uint64_t number) const;

    /// `id` < grid().chunks().
    [[nodiscard]] std::uint32_t parts_of(std::uint64_t id) const;

private:
    ChunkGrid grid_;
    std::uint32_t part_items_;
    std::uint32_t parts_per_chunk_;
};

/// Items per part, so that all `readers` work on the same chunk and none waits for one that another reads alone. A
/// multiple of `granularity`, below which a read costs more than its items; at most the whole chunk. All arguments are
/// at least 1.
[[nodiscard]] std::uint32_t choose_part_items(std::uint32_t chunk_items, std::uint32_t readers,
                                              std::uint32_t granularity);

}  // namespace sluice
