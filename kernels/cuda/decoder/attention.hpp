#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/rows.hpp"

/// Causal attention of a pass's rows, by heads: with the queries q, keys k and values v of a head,
///   out = sum over p of softmax(q k_p / sqrt(head size))_p v_p, for the positions p up to the row's own.
/// A row's result depends on its text only, not on the other rows: keys are taken in blocks that begin with the text.
namespace sluice::decoder {

/// Rows that attend.
enum class Attending : std::uint8_t {
    all,        ///< Every row, to where it lies.
    continued,  ///< Those of texts that continue, to where they lie.
    wanted,     ///< The last one of each entry, to the entry's number.
};

struct Attention {
    const void* queries;  ///< (rows, stride): heads of queries, then of keys, then of values.
    void* out;            ///< (rows, out_stride)
    std::uint32_t stride;
    std::uint32_t out_stride;
    std::uint32_t heads;      ///< Of queries.
    std::uint32_t key_heads;  ///< Of keys, and of values; divides heads.
    std::uint32_t head_size;
    std::uint32_t positions;  ///< Of the longest text.
    float scale;              ///< 1 / sqrt(head size)
    /// That attention to the cache takes at most, each as a whole, so that the others are free for products; 0: all.
    std::uint32_t multiprocessors = 0;

    /// Of all heads' queries.
    [[nodiscard]] __host__ __device__ std::uint32_t query_width() const { return heads * head_size; }
    /// Of all heads' keys, or values.
    [[nodiscard]] __host__ __device__ std::uint32_t key_width() const { return key_heads * head_size; }
    /// That a head of queries attends to.
    [[nodiscard]] __host__ __device__ std::uint32_t key_head(std::uint32_t head) const {
        return key_heads == heads ? head : head * key_heads / heads;
    }
    /// Whether no head before it attends to the same keys.
    [[nodiscard]] __host__ __device__ bool is_first_of_keys(std::uint32_t head) const {
        return key_heads == heads || head * key_heads % heads == 0;
    }
};

/// Keys and values come from the cache, the row's own among them (enqueue_remember()), for heads of any size; in fp32
/// the host's bits, in tf32 rounded to that, in tf32x3 in two parts of fp16.
void enqueue_attention_in_order(const Memory& memory, Precision precision, const Attention& attention,
                                const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream);

// The others take heads as has_tensor_heads() has them, and bring the keys and values of their rows into the cache.

/// In bf16 or fp16, of the rows of prompts, with their keys and values among the rows, on the tensor cores.
void enqueue_prompt_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, cudaStream_t stream);

/// The same in fp32, the host's bits, or in tf32 or tf32x3, which compute in fp32 too and keep their results as above.
void enqueue_float_prompt_attention(const Memory& memory, Precision precision, const Attention& attention,
                                    const Cache& cache, std::uint32_t layer, cudaStream_t stream);

/// With keys and values from the cache, which are read once for each head of queries, in any precision but fp32. Of
/// prompts' rows (`wanted`) those are there before; `all` is none of these.
void enqueue_cached_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, Attending attending, cudaStream_t stream);

/// The same in fp32, the host's bits.
void enqueue_cached_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                             Attending attending, cudaStream_t stream);

/// Of a text whose weights fit the shared memory of a warp, in enqueue_attention_in_order() and
/// enqueue_cached_in_order(): every device with asynchronous copies has 99 KiB.
inline constexpr std::uint32_t most_positions_in_order = 16'384;

/// Whether kernels other than enqueue_attention_in_order() have such heads.
[[nodiscard]] constexpr bool has_tensor_heads(std::uint32_t head_size) {
    return head_size == 32 || head_size == 64 || head_size == 128;
}

}  // namespace sluice::decoder
