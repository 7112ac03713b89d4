#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"

namespace sluice::decoder {

/// Adjacent warps of a block whose tiles are of one prompt: they share its keys and values. Each warp is in one group.
template <std::uint32_t block_warps>
class PromptGroup {
public:
    /// Of this warp, in a block whose warps have the tiles from `first_tile` on, which the warp's own tile is one of.
    [[nodiscard]] __device__ __forceinline__ static PromptGroup of_tiles(const Memory& memory, std::uint32_t first_tile,
                                                                         std::uint32_t tiles) {
        static_assert(block_warps * (block_warps - 1) < 16,
                      "a block has 16 barriers, and each set of its warps needs one");
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        const bool exists = lane < block_warps && first_tile + lane < tiles;
        const std::uint32_t first_row = exists ? memory.tiles[first_tile + lane].first_row : UINT32_MAX;
        const std::uint32_t of_warp = __shfl_sync(every_lane, first_row, static_cast<int>(warp));
        const std::uint32_t members = __ballot_sync(every_lane, exists && first_row == of_warp);
        return {static_cast<std::uint32_t>(__ffs(static_cast<int>(members)) - 1),
                static_cast<std::uint32_t>(__popc(members))};
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t first_warp() const { return first_; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t warps() const { return warps_; }
    /// This warp's place in the group.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t place() const { return threadIdx.x / warp_lanes - first_; }

    /// Waits for all warps of the group, whose writes to shared memory are seen afterwards. Groups of other warps have
    /// other barriers: while some of a block's warps are in one group, others may be in their next.
    __device__ __forceinline__ void wait() const {
        if (warps_ == 1) {
            __syncwarp();
        } else {
            const std::uint32_t barrier = 1 + first_ + (warps_ - 2) * block_warps;
            asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(warps_ * warp_lanes) : "memory");
        }
    }

private:
    __device__ __forceinline__ PromptGroup(std::uint32_t first, std::uint32_t warps) : first_(first), warps_(warps) {}

    std::uint32_t first_;
    std::uint32_t warps_;
};

}  // namespace sluice::decoder
