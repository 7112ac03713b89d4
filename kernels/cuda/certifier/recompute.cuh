#pragma once

#include <cstdint>

#include "kernels/cuda/certifier/recompute.hpp"
#include "kernels/cuda/launch.hpp"

namespace sluice {

inline constexpr std::uint32_t choose_threads = 1024;
inline constexpr std::uint32_t choose_warps = choose_threads / 32;

/// Selects the items for which test(item, is_active), called once for each item, is true. One block, so that the order
/// of items, and with it the batches, are the same in every run.
template <class Test>
__global__ void __launch_bounds__(choose_threads)
    choose_items(RecomputeSizes sizes, RecomputeMemory memory, Test test) {
    __shared__ std::uint32_t warp_ends[choose_warps];
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t present = memory.active == nullptr ? sizes.items : *memory.active;
    std::uint32_t before = 0;  // selected in earlier rounds
    for (std::uint32_t first = 0; first < sizes.items; first += choose_threads) {
        const std::uint32_t item = first + threadIdx.x;
        const bool uncertain = item < sizes.items && test(item, item < present);
        const std::uint32_t votes = __ballot_sync(~0U, uncertain);
        if (lane == 0) {
            warp_ends[warp] = __popc(votes);
        }
        __syncthreads();
        if (warp == 0) {
            std::uint32_t end = warp_ends[lane];
            for (std::uint32_t offset = 1; offset < choose_warps; offset *= 2) {
                const std::uint32_t left = __shfl_up_sync(~0U, end, offset);
                end += lane >= offset ? left : 0;
            }
            warp_ends[lane] = end;
        }
        __syncthreads();
        if (uncertain) {
            const std::uint32_t warp_begin = warp == 0 ? 0 : warp_ends[warp - 1];
            memory.chosen[before + warp_begin + __popc(votes & ((1U << lane) - 1))] = item;
        }
        before += warp_ends[choose_warps - 1];
        __syncthreads();  // before the next round writes warp_ends
    }
    if (threadIdx.x == 0) {
        memory.state->chosen = before;
        memory.state->done = 0;
        memory.state->more = before != 0 ? 1 : 0;
    }
}
static_assert(choose_warps == 32, "the warps' counts are added up by one warp");

template <class Test>
void enqueue_choose(const RecomputeSizes& sizes, const RecomputeMemory& memory, const Test& test, cudaStream_t stream) {
    launch(&choose_items<Test>, "certify", {.blocks = 1, .threads = choose_threads}, stream, sizes, memory, test);
}

}  // namespace sluice
