#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/attention/quantised_attention.hpp"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

template <class T>
__global__ void __launch_bounds__(row_threads)
    write_cache(Memory memory, const T* keys, std::uint32_t stride, Cache cache, std::uint32_t layer) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = memory.batch->rows;
    const WarpRows all;
    for (std::uint32_t r = all.first; r < rows; r += all.step) {
        if (prompt_page_of(memory, r) != no_page) {
            continue;
        }
        const Row row = memory.rows[r];
        const std::uint32_t page = page_of(memory, row.slot, row.position);
        copy_by_warp(cached<T>(cache, layer, page, row.position % page_positions), keys + std::size_t{r} * stride,
                     2 * cache.width);
    }
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
