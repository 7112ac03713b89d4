#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/attention/cache.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/decoder_shape.hpp"

/// Attention of a pass's rows, by heads: with the queries q, keys k and values v of a head,
///   out = sum over p of softmax(q k_p / sqrt(head size))_p v_p, for the positions p that the mask allows.
/// A row's result depends on its text only, not on the other rows: blocks of keys begin with the text.
namespace sluice::decoder {

/// Rows that attend.
enum class Attending : std::uint8_t {
    all,        ///< Every row; results at the row.
    continued,  ///< Rows of continuing texts; results at the row.
    wanted,     ///< The last row of each entry; results at the entry's number.
};

struct Attention {
    const void* queries;  ///< (rows, stride): heads of queries, then of keys, then of values.
    void* out;            ///< (rows, out_stride): heads of queries.
    std::uint32_t stride;
    std::uint32_t out_stride;
    std::uint32_t heads;      ///< Of queries.
    std::uint32_t key_heads;  ///< Of keys, and of values; divides heads.
    std::uint32_t head_size;
    std::uint32_t positions;  ///< Of the longest text.
    float scale;              ///< 1 / sqrt(head size)
    AttentionMask mask = AttentionMask::causal;
    /// Cached attention runs on at most so many, with blocks that fill them, and leaves the others to products; 0: all.
    std::uint32_t multiprocessors = 0;

    /// Of all heads' queries.
    [[nodiscard]] __host__ __device__ std::uint32_t query_width() const { return heads * head_size; }
    /// Of all heads' keys, or values.
    [[nodiscard]] __host__ __device__ std::uint32_t key_width() const { return key_heads * head_size; }
    /// The key head that a query head attends to.
    [[nodiscard]] __host__ __device__ std::uint32_t key_head(std::uint32_t head) const {
        return key_heads == heads ? head : head * key_heads / heads;
    }
    /// Whether no earlier head attends to the same keys.
    [[nodiscard]] __host__ __device__ bool is_first_of_keys(std::uint32_t head) const {
        return key_heads == heads || head * key_heads % heads == 0;
    }
};

/// Number of a text's first positions that all rows of its prompt attend to, besides those up to their own.
[[nodiscard]] __device__ inline std::uint32_t prefix_of(const Memory& memory, const Attention& attention,
                                                        std::uint32_t slot) {
    return attention.mask == AttentionMask::causal ? 0 : memory.texts[slot].prompt;
}

/// For heads of any size. Keys and values come from the cache, including the row's own (enqueue_cache_write()). Results
/// are the host's bits in fp32, rounded to tf32 in tf32, in the parts of tf32x3 and fp16x2.
void enqueue_attention_in_order(const Memory& memory, Precision precision, const Attention& attention,
                                const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream);

// The others require has_tensor_heads(), and add their rows' keys and values to the cache.

/// Rows of prompts that have tiles, in bf16 or fp16, on the tensor cores; their keys and values are among the rows, or
/// in the cache before.
void enqueue_prompt_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, cudaStream_t stream);

/// The same in tf32, tf32x3 or fp16x2, with results as above; in the last two each product is three in fp16, of parts.
void enqueue_float_prompt_attention(const Memory& memory, Precision precision, const Attention& attention,
                                    const Cache& cache, std::uint32_t layer, cudaStream_t stream);

/// The same in fp32, with the host's bits.
void enqueue_prompts_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                              cudaStream_t stream);

/// With keys and values from the cache, read once for each query head, in any precision but fp32. With `wanted`, those
/// of prompts' rows are in the cache before; `all` is not allowed.
void enqueue_cached_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, Attending attending, cudaStream_t stream);

/// The same in fp32, with the host's bits.
void enqueue_cached_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                             Attending attending, cudaStream_t stream);

/// Longest text whose weights fit a warp's shared memory in enqueue_attention_in_order() and enqueue_cached_in_order():
/// every device with asynchronous copies has 99 KiB.
inline constexpr std::uint32_t most_positions_in_order = 16'384;

/// Whether kernels other than enqueue_attention_in_order() support this head size.
[[nodiscard]] constexpr bool has_tensor_heads(std::uint32_t head_size) {
    return head_size == 32 || head_size == 64 || head_size == 128;
}

/// Calls `use` with a size of heads that has_tensor_heads().
template <class Use>
void with_tensor_head(std::uint32_t head_size, const Use& use) {
    if (head_size == 32) {
        use(std::integral_constant<std::uint32_t, 32>());
    } else if (head_size == 64) {
        use(std::integral_constant<std::uint32_t, 64>());
    } else {
        use(std::integral_constant<std::uint32_t, 128>());
    }
}

}  // namespace sluice::decoder
