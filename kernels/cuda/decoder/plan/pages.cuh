#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"

namespace sluice::decoder {

/// The page of the cache that has this position of a text.
[[nodiscard]] __device__ __forceinline__ std::uint32_t page_of(const Memory& memory, std::uint32_t slot,
                                                               std::uint32_t position) {
    return memory.page_table[std::size_t{slot} * memory.text_pages + position / page_positions];
}

/// Sets those of Memory::prompt_pages whose first row is the entry's. All lanes of a warp call.
__device__ __forceinline__ void list_prompt_pages(const Memory& memory, const Entry& entry, std::uint32_t page) {
    if (memory.prompt_pages == nullptr) {
        return;
    }
    const std::uint32_t end = divide_up(entry.first_row + entry.rows, page_positions);
    for (std::uint32_t i = divide_up(entry.first_row, page_positions) + threadIdx.x % warp_lanes; i < end;
         i += warp_lanes) {
        memory.prompt_pages[i] = page;
    }
}

/// The page of the prompt that is these rows and no others, or no_page.
[[nodiscard]] __device__ __forceinline__ std::uint32_t prompt_page_of(const Memory& memory, std::uint32_t row) {
    return memory.prompt_pages == nullptr ? no_page : memory.prompt_pages[row / page_positions];
}

}  // namespace sluice::decoder
