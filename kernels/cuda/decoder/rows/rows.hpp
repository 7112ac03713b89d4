#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/decoder_shape.hpp"

/// What is done to a pass's rows between the products. A row of activations lies `stride` values after the one before;
/// the values are fp32, also for tf32, tf32x3 and fp16x2, or those of bf16 or fp16. For tf32x3 what a product takes is
/// in two parts of fp16, for fp16x2 in fp16 and e4m3, in as many bytes (half_values.hpp).
namespace sluice::decoder {

/// Whether values have two bytes.
[[nodiscard]] constexpr bool is_narrow(Precision precision) {
    return precision == Precision::bf16 || precision == Precision::fp16 || precision == Precision::fp8;
}

/// sums[r] = embedding of row r's token + embedding of its position.
struct Embedding {
    const void* tokens;  ///< In fp32 (width, token_stride), in tf32x3 and fp16x2 (vocabulary, 2 width) of 16 bits, else
                         ///< (vocabulary, width).
    const float* positions;  ///< (positions, width), or one row for all of them
    void* sums;              ///< (rows, stride)
    std::uint32_t width;
    std::uint32_t stride;
    std::uint32_t token_stride;     ///< Of fp32.
    std::uint32_t position_stride;  ///< `width`, or 0.
    /// (rows, width / summed_values), in bf16 and fp16, of widths that are multiples of summed_values; null: not
    /// wanted.
    RowSums* row_sums = nullptr;
};
void enqueue_embedding(const Memory& memory, Precision precision, const Embedding& embedding, cudaStream_t stream);

/// Turns queries and keys by their rows' positions; see RotaryPositions. In fp32 the host's bits.
struct Rotation {
    void* rows;           ///< (rows, stride), of which each begins with the heads to turn.
    const float* angles;  ///< rotary_table()
    std::uint32_t stride;
    std::uint32_t heads;      ///< Of queries and of keys, together.
    std::uint32_t head_size;  ///< Even; in bf16 and fp16 a multiple of 16.
};
void enqueue_rotation(const Memory& memory, Precision precision, const Rotation& rotation, cudaStream_t stream);

/// to[e] = rows[last row of entry e], for all entries of the pass; `rows` are (rows, width), `to` is (slots, width).
void enqueue_gather(const Memory& memory, Precision precision, const void* rows, void* to, std::uint32_t width,
                    cudaStream_t stream);

/// to[r] = (from[r] - mean) / sqrt(variance + epsilon) * gamma + beta for the first `*rows` rows; if it `is_rms`, mean
/// is 0 and variance the mean of the squares. In fp32 the host's bits, and zeros from the width to the stride; in tf32
/// rounded to that, in tf32x3 and fp16x2 in parts.
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
    bool is_rms = false;
};
void enqueue_norm(Precision precision, const Norm& norm, cudaStream_t stream);

/// to[r] = 1 / sqrt(variance of from[r] + epsilon) for the first `*rows` rows, in bf16 or fp16; `is_rms`
/// as in Norm.
struct NormScales {
    const void* from;  ///< (rows, stride)
    float* to;         ///< (rows)
    float epsilon;
    std::uint32_t width;
    std::uint32_t stride;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory.
    bool is_rms = false;
};
void enqueue_norm_scales(Precision precision, const NormScales& scales, cudaStream_t stream);

/// to[r] = (from[r] - mean) / sqrt(variance + epsilon) * scale in e4m3, for the first `*rows` rows of bf16; `is_rms` as
/// in Norm. No result is above sqrt(width) * scale.
struct NormCodes {
    const void* from;  ///< (rows, width)
    void* to;          ///< (rows, width)
    float epsilon;
    float scale;
    std::uint32_t width;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory.
    bool is_rms = false;
};
void enqueue_norm_codes(const NormCodes& codes, cudaStream_t stream);

/// Widest rows for norms in bf16 and fp16. In tf32, tf32x3 and fp16x2 wider ones are possible, and slower.
inline constexpr std::uint32_t most_norm_width = 4096;

/// to[r] = activation(from[r]), or if gated activation(the gates in from[r]) * the other values, for the first `*rows`
/// rows. Gates are the first half, in bf16 and fp16 in the order of GemmShape::gated. Results have the format of
/// Norm's.
struct InnerActivation {
    const void* from;  ///< (rows, from_stride): `inner` values, or twice as many
    void* to;          ///< (rows, to_stride)
    std::uint32_t inner;
    std::uint32_t from_stride;
    std::uint32_t to_stride;
    DecoderActivation activation;
    bool gated;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory.
};
void enqueue_inner_activation(Precision precision, const InnerActivation& inner, cudaStream_t stream);

}  // namespace sluice::decoder
