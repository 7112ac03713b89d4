#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// Plans with prefixes that several prompts share.
namespace sluice::decoder {

/// Pages at the begin of an item's text that are shared.
[[nodiscard]] __device__ __forceinline__ std::uint32_t shared_pages_of(const Memory& memory, std::uint32_t item) {
    return memory.batch->shared_pages == 0 || item >= memory.shared.items ? 0 : memory.shared.paths[item].shared;
}

/// Enters the first `pages` pages of an item's path for a slot. Called by a warp.
__device__ __forceinline__ void list_shared_pages(const Memory& memory, std::uint32_t item, std::uint32_t slot,
                                                  std::uint32_t pages) {
    const SharedPrefixes& shared = memory.shared;
    for (std::uint32_t i = threadIdx.x % warp_lanes; i < pages; i += warp_lanes) {
        const PrefixPath& owner = shared.paths[shared.owners[std::size_t{item} * shared.most_pages + i]];
        memory.page_table[std::size_t{slot} * memory.text_pages + i] =
            shared.pages[owner.first + i - (owner.pages - owner.owned)];
    }
    __syncwarp();
}

/// Whether the next pass has prefixes only.
[[nodiscard]] __device__ __forceinline__ bool begins_with_prefixes(const Batch& batch) {
    return batch.next_prefix < batch.prefixes;
}

/// What may take a slot in a plan: an item, or those pages of prefixes that it owns.
struct Candidate {
    PromptStart start;  ///< Of the item.
    std::uint32_t item = 0;
    std::uint32_t rows = 0;    ///< Of its prompt that the pass computes; 0: there is no candidate.
    std::uint32_t shared = 0;  ///< Pages before those.
};

/// The owner that comes `number` places after the next one, if it has the same level: the pages before its own ones,
/// which are of lower levels, have been computed then.
[[nodiscard]] __device__ __forceinline__ Candidate next_prefix(const Memory& memory, const Rule& rule,
                                                               std::uint32_t number) {
    const Batch& batch = *memory.batch;
    const SharedPrefixes& shared = memory.shared;
    Candidate owner;
    if (batch.next_prefix + number >= batch.prefixes) {
        return owner;
    }
    const std::uint32_t item = shared.texts[batch.next_prefix + number];
    const PrefixPath& path = shared.paths[item];
    if (path.level == shared.paths[shared.texts[batch.next_prefix]].level) {
        owner = {.start = prompt_of(batch.in, rule, item).start,
                 .item = item,
                 .rows = path.owned * page_positions,
                 .shared = path.pages - path.owned};
    }
    return owner;
}

/// At a chunk's end its prefixes' pages are free again. All threads of a block call, `free` and the result are how many
/// there are before and afterwards.
[[nodiscard]] __device__ __forceinline__ std::uint32_t free_shared_pages(const Memory& memory, std::uint32_t free) {
    const std::uint32_t pages = memory.batch->shared_pages;
    for (std::uint32_t i = threadIdx.x; i < pages; i += blockDim.x) {
        memory.free_pages[free + i] = memory.shared.pages[i];
    }
    __syncthreads();
    return free + pages;
}

}  // namespace sluice::decoder
