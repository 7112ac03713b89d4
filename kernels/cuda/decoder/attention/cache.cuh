#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/attention/cache.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"

/// Where keys and values lie in a cache that keeps them as computed.
namespace sluice::decoder {

/// A position's keys, followed by its values.
template <class T>
__device__ __forceinline__ T* cached(const Cache& cache, std::uint32_t layer, std::uint32_t page, std::uint32_t place) {
    const std::size_t position = (std::size_t{layer} * cache.pages + page) * page_positions + place;
    return static_cast<T*>(cache.values) + position * 2 * cache.width;
}

/// Keys of a text in the cache, of one head; values lie `width` values behind them.
template <class T>
struct PastKeys {
    const std::uint32_t* pages;  ///< Of the text.
    const T* keys;               ///< Of the layer's first page.
    std::uint32_t width;         ///< Of all heads' keys.

    /// In the first position of the text's page `number`; the next position is 2 width values on.
    [[nodiscard]] __device__ __forceinline__ const T* page(std::uint32_t number) const {
        return keys + std::size_t{pages[number]} * page_positions * 2 * width;
    }
};

/// `key_at`: where the head begins among the keys of a position.
template <class T>
[[nodiscard]] __device__ __forceinline__ PastKeys<T> past_keys(const Memory& memory, const Cache& cache,
                                                               std::uint32_t layer, std::uint32_t slot,
                                                               std::uint32_t key_at) {
    return {.pages = memory.page_table + std::size_t{slot} * memory.text_pages,
            .keys = cached<T>(cache, layer, 0, 0) + key_at,
            .width = cache.width};
}

}  // namespace sluice::decoder
