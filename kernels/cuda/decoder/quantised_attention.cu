#include "core/error.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/quantised_attention.hpp"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/launch.hpp"

namespace sluice::decoder {

constexpr std::uint32_t quantised_warps = quantised_threads / warp_lanes;
constexpr std::uint32_t most_quantised_blocks = 64 * 132;  // many times what an H200 runs at a time: rows differ

void enqueue_remember_quantised(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                                const Cache& cache, std::uint32_t layer, cudaStream_t stream) {
    launch(fp8_kernels(precision, cache.head_size).remember, "keys and values in fp8",
           {.blocks = blocks_for(memory.most_rows, quantised_warps, most_quantised_blocks),
            .threads = quantised_threads,
            .chained = true},
           stream, memory, keys, stride, cache, layer);
}

void enqueue_quantised_attention(const Memory& memory, Precision precision, const Attention& attention,
                                 const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream) {
    expects(attention.multiprocessors == 0, "attention to a quantised cache takes all multiprocessors");
    launch(fp8_kernels(precision, attention.head_size).attend, "attention to the cache in fp8",
           {.blocks = blocks_for(std::uint64_t{memory.slots} * attention.heads, quantised_warps, most_quantised_blocks),
            .threads = quantised_threads,
            .chained = true},
           stream, memory, attention, cache, layer, attending);
}

}  // namespace sluice::decoder
