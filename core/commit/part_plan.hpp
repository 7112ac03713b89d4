#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/chunk_grid.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// Cuts the output into parts of whole chunks: part p holds the chunks from p * chunks_per_part on. A function of the
/// job and its chunk size.
class PartPlan {
public:
    /// `chunks_per_part` >= 1. Throws ContractViolation when there would be more than 2^32 - 1 parts.
    PartPlan(const ChunkGrid& grid, std::uint64_t chunks_per_part);

    [[nodiscard]] const ChunkGrid& grid() const noexcept { return grid_; }
    [[nodiscard]] std::uint64_t chunks_per_part() const noexcept { return chunks_per_part_; }

    /// At least one: an output without items has a header all the same.
    [[nodiscard]] std::uint32_t parts() const noexcept { return parts_; }

    [[nodiscard]] std::uint32_t part_of(std::uint64_t chunk) const noexcept {
        return static_cast<std::uint32_t>(chunk / chunks_per_part_);
    }
    [[nodiscard]] std::uint64_t first_chunk(std::uint32_t part) const noexcept { return part * chunks_per_part_; }
    /// The first chunk of the next part.
    [[nodiscard]] std::uint64_t end_chunk(std::uint32_t part) const noexcept;
    [[nodiscard]] std::uint64_t items_of(std::uint32_t part) const;

private:
    ChunkGrid grid_;
    std::uint64_t chunks_per_part_;
    std::uint32_t parts_;
};

/// How many chunks of about `chunk_bytes` make a part: all of `chunks` when they come to at most 256 MiB, else as many
/// as come to 256 MiB, at least one. An estimate that is wrong by a factor of two gives parts of 128 to 512 MiB.
[[nodiscard]] std::uint64_t choose_chunks_per_part(std::uint64_t chunks, std::uint64_t chunk_bytes) noexcept;

/// The bytes that a file of `items` items begins with. A function of the job and of `items`.
using FileHeader = std::function<std::string(std::uint64_t items)>;

/// What part `part` begins with. One file has its header in part 0, for all items; in a folder each part is a file of
/// its own and has one for its items.
[[nodiscard]] inline std::string part_header(const FileHeader& header, const PartPlan& plan, OutputLayout layout,
                                             std::uint32_t part) {
    if (layout == OutputLayout::folder) {
        return header(plan.items_of(part));
    }
    return part == 0 ? header(plan.grid().items()) : std::string();
}

}  // namespace sluice
