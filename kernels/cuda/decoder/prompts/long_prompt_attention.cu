#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"

#include <type_traits>

#include "core/error.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/prompts/long_prompt_loader.cuh"
#include "kernels/cuda/decoder/prompts/long_prompt_tile.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::decoder {
namespace {

constexpr std::uint32_t pattern_bytes = 1024;  // after which the copy engine's swizzle repeats
constexpr std::uint32_t block_threads = (LongPromptMemory::groups + 1) * warpgroup_threads;

// 64 Ki registers per multiprocessor, which has one block.
constexpr int loading_registers = 32;
constexpr int computing_registers = 160;

/// The part of computing warpgroup number `group`.
template <Precision precision, KvCache kind>
__device__ __forceinline__ void attend(const Memory& memory, const Attention& attention, const Cache& cache,
                                       std::uint32_t layer, const LongPromptMemory& shared, std::uint32_t group) {
    using OfGroup = LongPromptTile<precision>;
    using T = typename OfGroup::T;
    constexpr std::uint32_t head_size = LongPromptMemory::head_size;
    std::uint32_t first_step = 0;
    for (std::uint32_t n = 0;; ++n) {
        shared.wait_for_tile(n);
        const LongTile item = shared.item(n);
        if (item.steps == 0) {
            return;
        }
        OfGroup of_group(attention, item, shared, n, group);
        shared.release_tile(n);
        const std::uint32_t key_head = attention.key_head(item.head);
        of_group.attend(first_step, item.steps, [&](std::uint32_t own_keys) {
            if (!attention.is_first_of_keys(item.head) || of_group.page_rows() == 0) {
                return;
            }
            const std::uint32_t page = page_of(memory, item.tile.slot, of_group.page_position());
            const auto piece = [&](std::uint32_t matrix, std::uint32_t row, std::uint32_t number) {
                return OfGroup::own_piece(own_keys, matrix, row, number);
            };
            if constexpr (kind == KvCache::as_computed) {
                write_page<head_size>(cached<T>(cache, layer, page, 0) + key_head * head_size, attention.key_width(),
                                      of_group.page_rows(), piece);
            } else {
                write_page<head_size, T>(code_page<kind, head_size>(cache, layer, page, key_head), of_group.page_rows(),
                                         piece);
            }
        });
        of_group.store(static_cast<T*>(attention.out) + std::size_t{item.tile.first_row} * attention.out_stride,
                       item.head * head_size);
        first_step += item.steps;
    }
}

template <Precision precision, KvCache kind>
__global__ void __launch_bounds__(block_threads, 1)
    attend_long_prompts(Memory memory, Attention attention, Cache cache, std::uint32_t layer,
                        const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap cache_rows) {
    extern __shared__ __align__(pattern_bytes) std::uint8_t long_memory[];
    const LongPromptMemory shared(ptx::shared_address(long_memory));
    if (threadIdx.x == 0) {
        shared.prepare();
        ptx::prefetch_map(&rows);
        ptx::prefetch_map(&cache_rows);
    }
    __syncthreads();
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    if (memory.batch->long_texts == 0) {
        return;
    }
    const std::uint32_t group = __shfl_sync(every_lane, threadIdx.x / warpgroup_threads, 0);
    if (group == LongPromptMemory::groups) {
        ptx::give_registers<loading_registers>();
        if (threadIdx.x % warpgroup_threads == 0) {
            LongPromptLoader(memory, attention, cache, layer, rows, cache_rows, shared).run();
        }
    } else {
        ptx::take_registers<computing_registers>();
        attend<precision, kind>(memory, attention, cache, layer, shared, group);
    }
}

template <Precision precision, KvCache kind>
void launch_long_prompts(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                         const CUtensorMap& rows, const CUtensorMap& cache_rows, cudaStream_t stream) {
    constexpr auto kernel = &attend_long_prompts<precision, kind>;
    constexpr std::uint32_t shared = LongPromptMemory::bytes;
    allow_shared_bytes(kernel, shared);
    launch(kernel, "attention of long prompts",
           {.blocks = count_multiprocessors(), .threads = block_threads, .shared_bytes = shared, .chained = true},
           stream, memory, attention, cache, layer, rows, cache_rows);
}

template <Precision precision>
void launch_for_cache(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                      const CUtensorMap& rows, const CUtensorMap& cache_rows, cudaStream_t stream) {
    const auto launch_with = [&](auto kind) {
        launch_long_prompts<precision, kind()>(memory, attention, cache, layer, rows, cache_rows, stream);
    };
    switch (cache.kind) {
        case KvCache::as_computed:
            launch_with(std::integral_constant<KvCache, KvCache::as_computed>());
            break;
        case KvCache::fp8:
            launch_with(std::integral_constant<KvCache, KvCache::fp8>());
            break;
        case KvCache::int8:
            launch_with(std::integral_constant<KvCache, KvCache::int8>());
            break;
    }
}

/// Of a quantised cache there are none, and no prompt has a past.
CUtensorMap map_of_cache(Precision precision, const Cache& cache, std::uint32_t layers, const CUtensorMap& none) {
    return cache.kind == KvCache::as_computed
               ? make_matrix_map(precision, cache.values, layers * cache.pages * page_positions,
                                 2 * std::uint64_t{cache.width}, page_positions)
               : none;
}

}  // namespace

LongPromptAttention::LongPromptAttention(const Memory& memory, Precision precision, const Attention& attention,
                                         std::uint32_t rows, const Cache& cache, std::uint32_t layers)
    : memory_(memory),
      precision_(precision),
      attention_(attention),
      cache_(cache),
      rows_(make_matrix_map(precision, attention.queries, rows, attention.stride, step_keys)),
      cache_rows_(map_of_cache(precision, cache, layers, rows_)) {
    expects(has_long_prompts(precision, attention.head_size), "attention of long prompts: bf16 and fp16, heads of 64");
}

void LongPromptAttention::enqueue(std::uint32_t layer, cudaStream_t stream) const {
    if (precision_ == Precision::bf16) {
        launch_for_cache<Precision::bf16>(memory_, attention_, cache_, layer, rows_, cache_rows_, stream);
    } else {
        launch_for_cache<Precision::fp16>(memory_, attention_, cache_, layer, rows_, cache_rows_, stream);
    }
}

}  // namespace sluice::decoder
