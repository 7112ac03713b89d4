#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention.hpp"

/// What enqueue_remember() and enqueue_cached_attention() do where the cache is in fp8.
namespace sluice::decoder {

void enqueue_remember_fp8(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                          const Cache& cache, std::uint32_t layer, cudaStream_t stream);

/// On all multiprocessors.
void enqueue_fp8_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                           std::uint32_t layer, Attending attending, cudaStream_t stream);

}  // namespace sluice::decoder
