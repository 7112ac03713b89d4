#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"

/// Slots and pages in a plan.
namespace sluice::decoder {

constexpr std::uint32_t plan_threads = 1024;  // of the block that plans

struct SlotCounts {
    std::uint32_t continuing;
    std::uint32_t free_slots;
    std::uint32_t free_pages;
};

/// Appends the slots of the lanes where `listed`; one lane counts for the warp. All lanes call.
__device__ __forceinline__ void append_slots(bool listed, std::uint32_t slot, std::uint32_t* list,
                                             std::uint32_t& count) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t votes = __ballot_sync(every_lane, listed);
    const std::uint32_t first = __shfl_sync(every_lane, lane == 0 ? atomicAdd(&count, __popc(votes)) : 0, 0);
    if (listed) {
        list[first + __popc(votes & ((1U << lane) - 1))] = slot;
    }
}

/// Lists the slots whose texts continue and the empty ones, and frees the pages of complete texts. All plan_threads of
/// a block call; `counts` are in shared memory, both lists' initially 0.
__device__ inline void list_slots(const Memory& memory, SlotCounts& counts) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    for (std::uint32_t of_warp = threadIdx.x - lane; of_warp < memory.slots; of_warp += plan_threads) {
        const std::uint32_t slot = of_warp + lane;
        const bool exists = slot < memory.slots;
        bool continues = false;
        if (exists) {
            Text& text = memory.texts[slot];
            if (text.complete != 0) {
                const std::uint32_t own = text.pages - text.shared;
                const std::uint32_t at = atomicAdd(&counts.free_pages, own);
                for (std::uint32_t i = 0; i < own; ++i) {
                    memory.free_pages[at + i] =
                        memory.page_table[std::size_t{slot} * memory.text_pages + text.shared + i];
                }
                text.pages = 0;
                text.complete = 0;
            }
            continues = text.pages != 0;
        }
        append_slots(exists && continues, slot, memory.continuing, counts.continuing);
        append_slots(exists && !continues, slot, memory.free_slots, counts.free_slots);
    }
    __syncthreads();
}

/// Pages of a text from its prompt to its last new token, which is never read.
[[nodiscard]] __device__ inline std::uint32_t pages_of_text(const Rule& rule, std::uint32_t prompt) {
    return divide_up(prompt + rule.max_new - 1, page_positions);
}

/// Gives a slot the `pages` pages that end at `pages_end` among the free ones, after `shared` others.
__device__ inline void take_pages(const Memory& memory, std::uint32_t slot, std::uint32_t shared, std::uint32_t pages,
                                  std::uint32_t pages_end) {
    for (std::uint32_t i = 0; i < pages; ++i) {
        memory.page_table[std::size_t{slot} * memory.text_pages + shared + i] = memory.free_pages[pages_end - 1 - i];
    }
}

/// The entry of a text that continues.
[[nodiscard]] __device__ inline Entry last_token_of(const Memory& memory, std::uint32_t slot, std::uint32_t row) {
    const Text& text = memory.texts[slot];
    return {.slot = slot, .first_row = row, .rows = 1, .first_position = text.prompt + text.made - 1};
}

}  // namespace sluice::decoder
