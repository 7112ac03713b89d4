#include "core/error.hpp"
#include "kernels/cuda/decoder/attention/quantised_attention.hpp"
#include "kernels/cuda/launch.hpp"

namespace sluice::decoder {

/// Many times what run at a time: rows differ.
constexpr std::uint32_t most_quantised_blocks = 64 * hopper_multiprocessors;

static QuantisedKernels kernels_of(const Cache& cache, Precision precision) {
    return cache.kind == KvCache::fp8 ? fp8_kernels(precision, cache.head_size)
                                      : int8_kernels(precision, cache.head_size);
}

void enqueue_quantised_cache_write(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                                   const Cache& cache, std::uint32_t layer, cudaStream_t stream) {
    launch(kernels_of(cache, precision).write_cache, "quantised keys and values",
           {.blocks = blocks_for(memory.most_rows, quantised_warps, most_quantised_blocks),
            .threads = quantised_threads,
            .chained = true},
           stream, memory, keys, stride, cache, layer);
}

void enqueue_quantised_attention(const Memory& memory, Precision precision, const Attention& attention,
                                 const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream) {
    expects(attention.multiprocessors == 0, "attention to a quantised cache takes all multiprocessors");
    launch(kernels_of(cache, precision).attend, "attention to the quantised cache",
           {.blocks = blocks_for(std::uint64_t{memory.slots} * attention.heads, quantised_warps, most_quantised_blocks),
            .threads = quantised_threads,
            .chained = true},
           stream, memory, attention, cache, layer, attending);
}

}  // namespace sluice::decoder
