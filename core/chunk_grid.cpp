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
    return {id, first_item_ + first, static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_items_, items_ - first))};
}

ChunkGrid ChunkGrid::rest(std::uint64_t skipped) const {
    expects(skipped <= chunks(), "no more chunks are skipped than there are");
    const std::uint64_t items = skipped == chunks() ? items_ : skipped * chunk_items_;
    ChunkGrid left(items_ - items, chunk_items_);
    left.first_item_ = first_item_ + items;
    return left;
}

std::optional<std::uint64_t> fixed_chunk(const ChunkGrid& grid, std::uint32_t device, std::uint32_t devices,
                                         std::uint64_t request) {
    expects(device < devices, "a device's number is below the number of devices");
    const std::uint64_t chunks = grid.chunks();
    if (device >= chunks || request > (chunks - 1 - device) / devices) {
        return std::nullopt;
    }
    return device + request * devices;
}

}  // namespace sluice
