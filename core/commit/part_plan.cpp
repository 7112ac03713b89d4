#include "core/commit/part_plan.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t part_bytes = std::uint64_t{256} << 20;

}  // namespace

PartPlan::PartPlan(const ChunkGrid& grid, std::uint64_t chunks_per_part)
    : grid_(grid), chunks_per_part_(chunks_per_part), parts_(1) {
    expects(chunks_per_part >= 1, "a part holds a chunk at least");
    const std::uint64_t chunks = std::max<std::uint64_t>(grid.chunks(), 1);
    const std::uint64_t parts = chunks / chunks_per_part + (chunks % chunks_per_part != 0 ? 1 : 0);
    expects(parts < std::numeric_limits<std::uint32_t>::max(), "parts are numbered with 32 bits");
    parts_ = static_cast<std::uint32_t>(parts);
}

std::uint64_t PartPlan::end_chunk(std::uint32_t part) const noexcept {
    return part + 1 == parts_ ? grid_.chunks() : first_chunk(part + 1);
}

std::uint64_t PartPlan::items_of(std::uint32_t part) const {
    const std::uint64_t first = first_chunk(part);
    const std::uint64_t end = end_chunk(part);
    if (first == end) {
        return 0;
    }
    const Chunk last = grid_.at(end - 1);
    return last.first + last.count - grid_.at(first).first;
}

std::uint64_t choose_chunks_per_part(std::uint64_t chunks, std::uint64_t chunk_bytes) noexcept {
    const std::uint64_t fit = std::max<std::uint64_t>(part_bytes / std::max<std::uint64_t>(chunk_bytes, 1), 1);
    return std::clamp<std::uint64_t>(chunks, 1, fit);
}

}  // namespace sluice
