#include "core/chunk_grid.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

ChunkGrid::ChunkGrid(std::uint64_t items, std::uint32_t chunk_items) : items_(items), chunk_items_(chunk_items) {
    expects(chunk_items > 0, "a chunk has at least one item");
}

std::uint64_t ChunkGrid::chunks() const noexcept {
    return items_ / chunk_items_ + (items_ % chunk_items_ != 0 ? 1 : 0);
}

Chunk ChunkGrid::at(std::uint64_t id) const {
    expects(id < chunks(), "a chunk's id is below the number of chunks");
    const std::uint64_t first = id * chunk_items_;
    return {id, first, static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_items_, items_ - first))};
}

ChunkGrid ChunkGrid::from(std::uint64_t begin) const {
    expects(begin <= chunks(), "no more chunks are done than there are");
    ChunkGrid grid = *this;
    grid.begin_ = begin;
    return grid;
}

std::uint64_t ChunkGrid::items_done() const noexcept {
    return chunks_left() == 0 ? items_ : begin_ * chunk_items_;
}

std::optional<std::uint64_t> fixed_chunk(const ChunkGrid& grid, std::uint32_t device, std::uint32_t devices,
                                         std::uint64_t request) {
    expects(device < devices, "a device's number is below the number of devices");
    const std::uint64_t chunks = grid.chunks_left();
    if (device >= chunks || request > (chunks - 1 - device) / devices) {
        return std::nullopt;
    }
    return grid.begin() + device + request * devices;
}

}  // namespace sluice
