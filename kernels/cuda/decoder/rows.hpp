#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/precision.hpp"

/// What is done to a pass's rows between the products. A row of activations lies `stride` values after the one before;
/// the values are fp32, also for tf32 and tf32x3, or those of bf16 or fp16. For tf32x3 what a product takes is in two
/// parts of fp16, in as many bytes (half_values.hpp).
namespace sluice::decoder {

/// Keys and values: (layers, pages, page_positions, 2, width).
struct Cache {
    void* values = nullptr;
    std::uint32_t pages = 0;
    std::uint32_t width = 0;
};

/// sums[r] = embedding of row r's token + embedding of its position.
struct Embedding {
    const void* tokens;  ///< In fp32 (width, token_stride), in tf32x3 (vocabulary, 2, width), else (vocabulary, width).
    const float* positions;  ///< (positions, width)
    void* sums;              ///< (rows, stride)
    std::uint32_t width;
    std::uint32_t stride;
    std::uint32_t token_stride;  ///< Of fp32.
};
void enqueue_embedding(const Memory& memory, Precision precision, const Embedding& embedding, cudaStream_t stream);

/// The keys and values of the rows of `queries`, (rows, stride) with queries, keys and values of `width` each, into the
/// cache.
void enqueue_remember(const Memory& memory, Precision precision, const void* queries, std::uint32_t stride,
                      const Cache& cache, std::uint32_t layer, cudaStream_t stream);

/// to[e] = the last row of entry e in `rows`; both (…, width) of `width` values at all.
void enqueue_gather(const Memory& memory, Precision precision, const void* rows, void* to, std::uint32_t width,
                    cudaStream_t stream);

/// to[r] = (from[r] - mean) / sqrt(variance + epsilon) * gamma + beta for the first `*rows` rows. In fp32 the host's
/// bits; in tf32 rounded to that, in tf32x3 in two parts.
struct Norm {
    const void* from;  ///< (rows, stride)
    void* to;          ///< (rows, stride)
    const float* gamma;
    const float* beta;
    float epsilon;
    std::uint32_t width;
    std::uint32_t stride;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory.
};
void enqueue_norm(Precision precision, const Norm& norm, cudaStream_t stream);

/// to[r] = 1 / sqrt(variance of from[r] + epsilon) for the first `*rows` rows, in bf16 or fp16.
struct NormScales {
    const void* from;  ///< (rows, stride)
    float* to;         ///< (rows)
    float epsilon;
    std::uint32_t width;
    std::uint32_t stride;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory.
};
void enqueue_norm_scales(Precision precision, const NormScales& scales, cudaStream_t stream);

inline constexpr std::uint32_t most_norm_width = 4096;  ///< In bf16 and fp16.

}  // namespace sluice::decoder
