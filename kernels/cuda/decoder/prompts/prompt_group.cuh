#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"

namespace sluice::decoder {

constexpr std::uint32_t prompt_warps = 4;  // of a block

/// Adjacent warps of a block whose tiles are of one prompt: they share its keys and values. Each warp is in one group.
class PromptGroup {
public:
    /// This warp's group: warp i of the block has tile first_tile + i, of `tiles` in all. All lanes call.
    [[nodiscard]] __device__ __forceinline__ static PromptGroup of_tiles(const Memory& memory, std::uint32_t first_tile,
                                                                         std::uint32_t tiles) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        const bool exists = lane < prompt_warps && first_tile + lane < tiles;
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
        } else if (warps_ == 4) {
            wait_at<1, 4>();
        } else if (warps_ == 3) {
            first_ == 0 ? wait_at<2, 3>() : wait_at<3, 3>();
        } else if (first_ == 0) {
            wait_at<4, 2>();
        } else {
            first_ == 1 ? wait_at<5, 2>() : wait_at<6, 2>();
        }
    }

private:
    static_assert(prompt_warps == 4, "wait() has a barrier for each set of adjacent warps");

    /// With numbers known to the compiler, a block takes up 7 of a multiprocessor's 64 barriers, and not 16.
    template <std::uint32_t barrier, std::uint32_t warps>
    __device__ __forceinline__ static void wait_at() {
        asm volatile("barrier.sync %0, %1;" ::"n"(barrier), "n"(warps * warp_lanes) : "memory");
    }

    __device__ __forceinline__ PromptGroup(std::uint32_t first, std::uint32_t warps) : first_(first), warps_(warps) {}

    std::uint32_t first_;
    std::uint32_t warps_;
};

}  // namespace sluice::decoder
