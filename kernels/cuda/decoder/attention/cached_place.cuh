#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"

/// Source and destination of a row that attends to the cache.
namespace sluice::decoder {

struct CachedPlace {
    std::uint32_t slot;
    std::uint32_t row;
    std::uint32_t position;
    std::uint32_t to;
    bool is_new;  ///< Its key and value are not in the cache yet.
};

/// For the last row of entry `number`.
__device__ __forceinline__ CachedPlace place_of(const Memory& memory, Attending attending, std::uint32_t number) {
    const Entry entry = memory.entries[number];
    return {.slot = entry.slot,
            .row = entry.last_row(),
            .position = entry.last_position(),
            .to = attending == Attending::wanted ? number : entry.last_row(),
            .is_new = number >= memory.batch->beginning};
}

}  // namespace sluice::decoder
