#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/attention/quantised_attention.hpp"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.cuh"
#include "kernels/cuda/launch.hpp"

namespace sluice::decoder {

template <class T>
__global__ void __launch_bounds__(row_threads)
    write_cache(Memory memory, const T* keys, std::uint32_t stride, Cache cache, std::uint32_t layer) {
    for_each_row_of_warp(&memory.batch->rows, [&](std::uint32_t r, std::uint32_t) {
        if (prompt_page_of(memory, r) != no_page) {
            return;
        }
        const Row row = memory.rows[r];
        const std::uint32_t page = page_of(memory, row.slot, row.position);
        copy_by_warp(cached<T>(cache, layer, page, row.position % page_positions), keys + std::size_t{r} * stride,
                     2 * cache.width);
    });
}

void enqueue_cache_write(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                         const Cache& cache, std::uint32_t layer, cudaStream_t stream) {
    if (cache.kind != KvCache::as_computed) {
        enqueue_quantised_cache_write(memory, precision, keys, stride, cache, layer, stream);
        return;
    }
    with_type_of(precision, [&](auto value) {
        using T = decltype(value);
        launch(&write_cache<T>, "keys and values", for_warps(memory.most_rows), stream, memory,
               static_cast<const T*>(keys), stride, cache, layer);
    });
}

}  // namespace sluice::decoder
