#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/prompt_group.cuh"
#include "kernels/cuda/decoder/prompt_tile.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t prompt_threads = prompt_warps * warp_lanes;
constexpr std::uint32_t prompt_blocks = 16 * 132;  // several times what an H200 runs at a time: tiles differ in keys

extern __shared__ uint4 prompt_memory[];

template <class T, std::uint32_t head_size, KvCache kind>
__global__ void __launch_bounds__(prompt_threads)
    attend_prompts(Memory memory, Attention attention, Cache cache, std::uint32_t layer) {
    using OfHead = PromptTile<T, head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t tiles = memory.batch->tiles;
    const std::uint32_t all = divide_up(tiles, prompt_warps) * attention.heads;
    for (std::uint32_t i = blockIdx.x; i < all; i += gridDim.x) {
        const std::uint32_t first_tile = i / attention.heads * prompt_warps;
        const std::uint32_t head = i % attention.heads;
        if (first_tile + threadIdx.x / warp_lanes >= tiles) {
            return;  // as in all later turns
        }
        const auto group = PromptGroup::of_tiles(memory, first_tile, tiles);
        const Tile tile = memory.tiles[first_tile + threadIdx.x / warp_lanes];
        const std::uint32_t at = head * head_size;
        const std::uint32_t key_at = attention.key_head(head) * head_size;
        const T* const row = static_cast<const T*>(attention.queries) + std::size_t{tile.first_row} * attention.stride;
        OfHead of_head(attention, group, tile, prefix_of(memory, attention, tile.slot), row + at,
                       row + attention.query_width() + key_at, ptx::shared_address(prompt_memory));
        of_head.attend();
        if (attention.is_first_of_keys(head)) {
            const std::uint32_t page = page_of(memory, tile.slot, tile.query);
            if constexpr (kind == KvCache::as_computed) {
                of_head.remember(cached<T>(cache, layer, page, 0) + key_at);
            } else {
                of_head.remember(code_page<kind, head_size>(cache, layer, page, attention.key_head(head)));
            }
        }
        group.wait();  // before the next tiles' keys are copied there
        of_head.store(static_cast<T*>(attention.out) + std::size_t{tile.first_row} * attention.out_stride + at);
    }
}

template <class T, std::uint32_t head_size>
auto prompt_kernel(KvCache kind) {
    return kind == KvCache::fp8    ? &attend_prompts<T, head_size, KvCache::fp8>
           : kind == KvCache::int8 ? &attend_prompts<T, head_size, KvCache::int8>
                                   : &attend_prompts<T, head_size, KvCache::as_computed>;
}

void enqueue_prompt_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, cudaStream_t stream) {
    with_narrow_type_of(precision, [&](auto value) {
        with_tensor_head(attention.head_size, [&](auto size) {
            using T = decltype(value);
            constexpr std::uint32_t shared = prompt_warps * PromptTile<T, size()>::warp_bytes;
            const auto kernel = prompt_kernel<T, size()>(cache.kind);
            check_cuda(
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
                "cudaFuncSetAttribute");
            const std::uint64_t tiles = memory.most_rows / tile_queries + std::uint64_t{memory.slots};
            launch(kernel, "attention of prompts",
                   {.blocks = blocks_for(tiles * attention.heads, prompt_warps, prompt_blocks),
                    .threads = prompt_threads,
                    .shared_bytes = shared,
                    .chained = true},
                   stream, memory, attention, cache, layer);
        });
    });
}

}  // namespace sluice::decoder
