#include "core/error.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/choice/log_probability.cuh"
#include "kernels/cuda/decoder/plan/texts.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t best_threads = 128;
constexpr std::uint32_t most_best_blocks = 16 * hopper_multiprocessors;

/// ln of softmax of a row at its largest score. Called by all lanes of a warp.
__device__ __forceinline__ float log_probability_of_best(const ScoreSum* sums, std::uint32_t groups, float largest) {
    double sum = 0;
    for (std::uint32_t i = threadIdx.x % warp_lanes; i < groups; i += warp_lanes) {
        sum += part_of_sum(sums[i], largest);
    }
    return log_of_softmax(largest, largest, sum_of_warp(sum));
}

/// One warp per entry. Sums: (entries, groups) at a temperature of 1, for log-probabilities.
template <bool log_probabilities>
__global__ void __launch_bounds__(best_threads)
    take_best(Memory memory, Rule rule, const TileBest* bests, std::uint32_t tiles, const ScoreSum* sums,
              std::uint32_t groups) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t entries = memory.batch->entries;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * (best_threads / warp_lanes);
    for (std::uint32_t e = (blockIdx.x * best_threads + threadIdx.x) / warp_lanes; e < entries; e += step) {
        BestTwo found;
        std::uint32_t nonfinite = 0;
        for (std::uint32_t i = lane; i < tiles; i += warp_lanes) {
            const TileBest tile = bests[std::size_t{e} * tiles + i];
            nonfinite |= tile.place & nonfinite_mark;
            found.join({{tile.score, tile.place & ~nonfinite_mark}, tile.second});
        }
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            found.join(found.of_lane(apart));
            nonfinite |= __shfl_xor_sync(every_lane, nonfinite, apart);
        }
        float log_probability = 0;
        if constexpr (log_probabilities) {
            log_probability = log_probability_of_best(sums + std::size_t{e} * groups, groups, found.best.score);
        }
        if (lane == 0) {
            append(memory, rule, memory.texts[memory.entries[e].slot],
                   {.token = found.best.is_any() ? found.best.place : 0,
                    .log_probability = log_probability,
                    .nonfinite = nonfinite != 0,
                    .doubt = {.doubt = {.gap = found.gap()}}});
        }
    }
}

void enqueue_take_best(const Memory& memory, const Rule& rule, const BestRows& rows, cudaStream_t stream) {
    expects(!rule.log_probabilities || rows.sums != nullptr, "decoder: log-probabilities without sums of scores");
    const std::uint32_t blocks = (memory.slots * warp_lanes + best_threads - 1) / best_threads;
    launch(rule.log_probabilities ? &take_best<true> : &take_best<false>, "largest scores",
           {.blocks = blocks < most_best_blocks ? blocks : most_best_blocks, .threads = best_threads, .chained = true},
           stream, memory, rule, rows.bests, rows.tiles, rows.sums, groups_of(rows.vocabulary));
}

}  // namespace sluice::decoder
