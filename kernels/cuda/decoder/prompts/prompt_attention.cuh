#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/prompts/prompt_group.cuh"
#include "kernels/cuda/decoder/prompts/prompt_tile.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t prompt_threads = prompt_warps * warp_lanes;
constexpr std::uint32_t prompt_blocks = 16 * hopper_multiprocessors;  // more than run at a time: tiles differ in keys

extern __shared__ uint4 prompt_memory[];

/// On a multiprocessor, to hide latencies; of the largest heads and in tf32x3 and fp16x2 that costs a few spilled
/// registers.
template <Precision precision, std::uint32_t head_size>
constexpr int prompt_blocks_at_once = (sizeof(typename PromptProducts<precision, head_size>::Value) == 2 ? 4 : 3) -
                                      (head_size == 128 ? 1 : 0);

template <Precision precision, std::uint32_t head_size, KvCache kind>
__global__ void __launch_bounds__(prompt_threads, prompt_blocks_at_once<precision, head_size>)
    attend_prompts(Memory memory, Attention attention, Cache cache, std::uint32_t layer) {
    using OfHead = PromptTile<precision, head_size>;
    using T = typename OfHead::T;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t tiles = memory.batch->tiles;
    const std::uint32_t groups = divide_up(tiles, prompt_warps);
    for (std::uint32_t i = blockIdx.x; i < groups * attention.heads; i += gridDim.x) {
        const std::uint32_t first_tile = (groups - 1 - i / attention.heads) * prompt_warps;  // a prompt's longest first
        const std::uint32_t head = i % attention.heads;
        if (first_tile + threadIdx.x / warp_lanes >= tiles) {
            continue;
        }
        const auto group = PromptGroup::of_tiles(memory, first_tile, tiles);
        const Tile tile = memory.tiles[first_tile + threadIdx.x / warp_lanes];
        const std::uint32_t at = head * head_size;
        const std::uint32_t key_at = attention.key_head(head) * head_size;
        const T* const row = static_cast<const T*>(attention.queries) + std::size_t{tile.first_row} * attention.stride;
        const PastKeys<T> past = past_keys<T>(memory, cache, layer, tile.slot, key_at);
        OfHead of_head(attention, group, tile, prefix_of(memory, attention, tile.slot), row + at,
                       row + attention.query_width() + key_at, past, ptx::shared_address(prompt_memory));
        of_head.attend();
        if (attention.is_first_of_keys(head)) {
            const std::uint32_t page = page_of(memory, tile.slot, tile.past + tile.query);
            if constexpr (kind == KvCache::as_computed) {
                of_head.write_cache(cached<T>(cache, layer, page, 0) + key_at);
            } else {
                of_head.write_cache(code_page<kind, head_size>(cache, layer, page, attention.key_head(head)));
            }
        }
        group.wait();  // before the next tiles' keys are copied there
        of_head.store(static_cast<T*>(attention.out) + std::size_t{tile.first_row} * attention.out_stride, at);
    }
}

template <Precision precision, std::uint32_t head_size, KvCache kind>
void launch_prompts(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                    cudaStream_t stream) {
    constexpr auto kernel = &attend_prompts<precision, head_size, kind>;
    constexpr std::uint32_t shared = prompt_warps * PromptTile<precision, head_size>::warp_bytes;
    allow_shared_bytes(kernel, shared);
    const std::uint64_t tiles = memory.most_rows / tile_queries + std::uint64_t{memory.slots};
    launch(kernel, "attention of prompts",
           {.blocks = blocks_for(tiles * attention.heads, prompt_warps, prompt_blocks),
            .threads = prompt_threads,
            .shared_bytes = shared,
            .chained = true},
           stream, memory, attention, cache, layer);
}

/// Only bf16 and fp16 have caches of other kinds than as computed.
template <Precision precision>
void launch_prompts_in(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                       cudaStream_t stream) {
    with_tensor_head(attention.head_size, [&](auto size) {
        if constexpr (precision == Precision::bf16 || precision == Precision::fp16) {
            if (cache.kind == KvCache::fp8) {
                return launch_prompts<precision, size(), KvCache::fp8>(memory, attention, cache, layer, stream);
            }
            if (cache.kind == KvCache::int8) {
                return launch_prompts<precision, size(), KvCache::int8>(memory, attention, cache, layer, stream);
            }
        }
        launch_prompts<precision, size(), KvCache::as_computed>(memory, attention, cache, layer, stream);
    });
}

}  // namespace sluice::decoder
