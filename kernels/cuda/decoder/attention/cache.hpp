#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/token_sampling.hpp"

/// The keys and values of all texts, in pages.
namespace sluice::decoder {

/// Keys and values: (layers, pages, page_positions, 2, width); quantised (layers, pages, key heads, 2, page_positions,
/// head_size) e4m3, or int8 plus 128, times `scales`.
struct Cache {
    void* values = nullptr;
    std::uint32_t pages = 0;
    std::uint32_t width = 0;  ///< Of all heads' keys.
    KvCache kind = KvCache::as_computed;
    // Quantised.
    void* scales = nullptr;  ///< (layers, pages, key heads, page_positions, 2) of keys and values: e8m0, of int8 bf16.
    std::uint32_t head_size = 0;
};

/// Bytes of a scale of a quantised cache.
[[nodiscard]] constexpr std::uint32_t scale_bytes(KvCache kind) {
    return kind == KvCache::fp8 ? 1 : 2;
}

/// Writes the keys and values of a pass's rows to the cache, but for prompts with a page among Memory::prompt_pages.
/// `keys`: the first row's, followed by its values; the next row's are `stride` values further on.
void enqueue_cache_write(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                         const Cache& cache, std::uint32_t layer, cudaStream_t stream);

}  // namespace sluice::decoder
