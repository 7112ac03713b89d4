#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"

/// What enqueue_cache_write() and enqueue_cached_attention() do where the cache is quantised.
namespace sluice::decoder {

void enqueue_quantised_cache_write(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                                   const Cache& cache, std::uint32_t layer, cudaStream_t stream);

/// On all multiprocessors.
void enqueue_quantised_attention(const Memory& memory, Precision precision, const Attention& attention,
                                 const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream);

/// Kernels for a kind of cache, a precision and a head size, for blocks of quantised_threads.
struct QuantisedKernels {
    void (*attend)(Memory, Attention, Cache, std::uint32_t layer, Attending);
    void (*write_cache)(Memory, const void* keys, std::uint32_t stride, Cache, std::uint32_t layer);
};
inline constexpr std::uint32_t quantised_warps = 4;
inline constexpr std::uint32_t quantised_threads = 32 * quantised_warps;

// A source each: they take long to compile.
[[nodiscard]] QuantisedKernels fp8_kernels(Precision precision, std::uint32_t head_size);
[[nodiscard]] QuantisedKernels int8_kernels(Precision precision, std::uint32_t head_size);

}  // namespace sluice::decoder
