#include "core/input/chunk_parts.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

ChunkParts::ChunkParts(const ChunkGrid& grid, std::uint32_t part_items) : grid_(grid), part_items_(part_items) {
    expects(part_items > 0, "a part has at least one item");
    parts_per_chunk_ = static_cast<std::uint32_t>(divide_up(grid.chunk_items(), part_items));
}

std::uint64_t ChunkParts::parts() const {
    const std::uint64_t chunks = grid_.chunks();
    return chunks == 0 ? 0 : (chunks - 1) * parts_per_chunk_ + parts_of(chunks - 1);
}

std::uint64_t ChunkParts::parts_done() const {
    return grid_.chunks_left() == 0 ? parts() : grid_.begin() * parts_per_chunk_;
}

ChunkPart ChunkParts::at(std::uint64_t number) const {
    const Chunk chunk = grid_.at(number / parts_per_chunk_);
    const std::uint64_t begin = number % parts_per_chunk_ * part_items_;
    expects(begin < chunk.count, "a part's number is below the number of parts");
    return {chunk, static_cast<std::uint32_t>(begin),
            static_cast<std::uint32_t>(std::min<std::uint64_t>(part_items_, chunk.count - begin))};
}

std::uint32_t ChunkParts::parts_of(std::uint64_t id) const {
    return static_cast<std::uint32_t>(divide_up(grid_.at(id).count, part_items_));
}

std::uint32_t choose_part_items(std::uint32_t chunk_items, std::uint32_t readers, std::uint32_t granularity) {
    expects(chunk_items > 0 && readers > 0 && granularity > 0, "a chunk, its readers and their steps are not empty");
    const std::uint64_t share = divide_up(chunk_items, readers);
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(chunk_items, divide_up(share, granularity) * granularity));
}

}  // namespace sluice
