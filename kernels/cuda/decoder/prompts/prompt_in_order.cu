#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t ordered_prompt_threads = 128;
constexpr std::uint32_t ordered_prompt_warps = ordered_prompt_threads / warp_lanes;
constexpr std::uint32_t ordered_prompt_blocks = 16 * hopper_multiprocessors;  // four times what run at a time
constexpr std::uint32_t ordered_step_keys = 16;
static_assert(tile_queries == ordered_step_keys && page_positions == ordered_step_keys,
              "a tile's own keys are those of a page");

extern __shared__ float4 ordered_prompt_memory[];

/// 16 queries of a prompt in one head, by a warp, which visits the keys up to their own, 16 at a time, a step: once for
/// the largest scores, then, as all weights depend on these, for weights and values. One step needs one visit.
template <std::uint32_t head_size>
class OrderedPromptTile {
public:
    static constexpr std::uint32_t row_floats = head_size + 4;  // padded: no bank conflicts among eight rows
    static constexpr std::uint32_t matrix_floats = ordered_step_keys * row_floats;
    static constexpr std::uint32_t warp_floats = 3 * matrix_floats;  // queries, keys, values

    /// `shared`: the warp's. `queries`, `keys`: the prompt's first row, in the head; `past`: in the cache; `page`: of
    /// the tile's own keys in the cache; null: another head writes them. Besides the keys up to its own a query sees
    /// the first `prefix`.
    __device__ __forceinline__ OrderedPromptTile(const Attention& attention, const Tile& tile, std::uint32_t prefix,
                                                 const float* queries, const float* keys, const PastKeys<float>& past,
                                                 float* page, float* shared)
        : attention_(attention),
          tile_(tile),
          prefix_(prefix),
          queries_(queries),
          keys_(keys),
          past_(past),
          page_(page),
          shared_(shared),
          lane_(threadIdx.x % warp_lanes) {}

    __device__ __forceinline__ void attend() {
        const std::uint32_t last = max(own(), prefix_ == 0 ? 0 : (prefix_ - 1) / ordered_step_keys);
        float scores[4][2];
        copy(0, queries_ + std::size_t{tile_.query} * attention_.stride, attention_.stride, tile_.rows - tile_.query);
        ptx::commit_copies();
        if (last == 0) {
            bring(scores, 0);
            find_largest(scores, 0);
        } else {
            for (std::uint32_t step = 0; step <= last; ++step) {
                copy_keys(1, step);
                wait();
                multiply_keys(scores);
                find_largest(scores, step);
                __syncwarp();  // the keys are read before the next ones arrive
            }
        }
        share_largest();
        for (std::uint32_t step = 0; step < last; ++step) {
            bring(scores, step);
            add(scores, step);
        }
        if (last != 0) {
            bring(scores, last);
        }
        add(scores, last);
    }

    /// `to`: of the prompt's first row, in the head.
    __device__ __forceinline__ void store(float* to) const {
#pragma unroll
        for (std::uint32_t i = 0; i < mixed_queries; ++i) {
            const std::uint32_t row = tile_.query + first_mixed() + i;
            if (row < tile_.rows) {
                float out[4];
#pragma unroll
                for (std::uint32_t d = 0; d < 4; ++d) {
                    out[d] = __fdiv_rn(mixed_[i][d], sums_[i]);
                }
                *reinterpret_cast<float4*>(to + std::size_t{row} * attention_.out_stride + 4 * mixed_piece()) = {
                    out[0], out[1], out[2], out[3]};
            }
        }
    }

private:
    /// The tile's own step.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t own() const {
        return (tile_.past + tile_.query) / ordered_step_keys;
    }

    static constexpr std::uint32_t row_pieces = head_size / 4;                              // of 16 bytes
    static constexpr std::uint32_t mixed_queries = tile_queries * row_pieces / warp_lanes;  // per lane
    static constexpr std::uint32_t weights_stride = tile_queries + 4;                       // of a key
    static_assert(ordered_step_keys * weights_stride <= matrix_floats, "weights lie where the keys were");

    // Scores: a lane has 4 adjacent queries and the keys k and k + 8.
    __device__ __forceinline__ std::uint32_t first_scored() const {
        return lane_ / 8 * 4;
    }
    __device__ __forceinline__ std::uint32_t first_key() const {
        return lane_ % 8;
    }
    // Mixed values: a lane has 4 values of the head for mixed_queries queries.
    __device__ __forceinline__ std::uint32_t first_mixed() const {
        return lane_ / row_pieces * mixed_queries;
    }
    __device__ __forceinline__ std::uint32_t mixed_piece() const {
        return lane_ % row_pieces;
    }

    __device__ __forceinline__ float* matrix(std::uint32_t number) const {
        return shared_ + number * matrix_floats;
    }

    /// Copies up to 16 rows from `first` on to matrix `number`, of queries, keys, values; zeros beyond the last.
    __device__ __forceinline__ void copy(std::uint32_t number, const float* first, std::uint32_t stride,
                                         std::uint32_t rows) const {
        const std::uint32_t to = ptx::shared_address(shared_) + number * (matrix_floats * 4);
#pragma unroll 4
        for (std::uint32_t i = 0; i < ordered_step_keys * row_pieces; i += warp_lanes) {
            const std::uint32_t row = (i + lane_) / row_pieces;
            const std::uint32_t piece = (i + lane_) % row_pieces;
            const bool exists = row < rows;
            ptx::copy_16(to + (row * row_floats + piece * 4) * 4,
                         first + std::size_t{exists ? row : 0} * stride + piece * 4, exists);
        }
    }

    /// The same of a step's keys, or values.
    __device__ __forceinline__ void copy_keys(std::uint32_t number, std::uint32_t step) const {
        const std::uint32_t values = (number - 1) * attention_.key_width();
        const std::uint32_t position = step * ordered_step_keys;
        if (position < tile_.past) {
            copy(number, past_.page(step) + values, 2 * past_.width, ordered_step_keys);
        } else {
            const std::uint32_t row = position - tile_.past;
            copy(number, keys_ + values + std::size_t{row} * attention_.stride, attention_.stride, tile_.rows - row);
        }
        ptx::commit_copies();
    }

    __device__ __forceinline__ static void wait() {
        ptx::wait_for_copies<0>();
        __syncwarp();
    }

    /// Copies keys and values and computes scores. The tile's own ones go to the cache.
    __device__ __forceinline__ void bring(float (&scores)[4][2], std::uint32_t step) const {
        copy_keys(1, step);
        copy_keys(2, step);
        wait();
        if (step == own() && page_ != nullptr) {
            write_cache();
        }
        multiply_keys(scores);
    }

    __device__ __forceinline__ void write_cache() const {
        const std::uint32_t width = attention_.key_width();
#pragma unroll 4
        for (std::uint32_t i = 0; i < 2 * ordered_step_keys * row_pieces; i += warp_lanes) {
            const std::uint32_t number = (i + lane_) / (ordered_step_keys * row_pieces);  // keys, values
            const std::uint32_t row = (i + lane_) / row_pieces % ordered_step_keys;
            const std::uint32_t piece = (i + lane_) % row_pieces;
            if (tile_.query + row < tile_.rows) {
                *reinterpret_cast<float4*>(page_ + std::size_t{2 * row + number} * width + piece * 4) =
                    *reinterpret_cast<const float4*>(matrix(1 + number) + row * row_floats + piece * 4);
            }
        }
    }

    __device__ __forceinline__ void multiply_keys(float (&scores)[4][2]) const {
        const float* const query = matrix(0) + first_scored() * row_floats;
        const float* const key = matrix(1) + first_key() * row_floats;
#pragma unroll
        for (auto& of_query : scores) {
            of_query[0] = 0;
            of_query[1] = 0;
        }
#pragma unroll 2
        for (std::uint32_t d = 0; d < head_size; d += 4) {
            float keys[2][4];
            load_4(key + d, keys[0]);
            load_4(key + 8 * row_floats + d, keys[1]);
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                float of_query[4];
                load_4(query + i * row_floats + d, of_query);
#pragma unroll
                for (std::uint32_t j = 0; j < 2; ++j) {
#pragma unroll
                    for (std::uint32_t e = 0; e < 4; ++e) {
                        scores[i][j] = __fadd_rn(scores[i][j], __fmul_rn(keys[j][e], of_query[e]));
                    }
                }
            }
        }
    }

    /// Whether query i sees key j of a step.
    [[nodiscard]] __device__ __forceinline__ bool sees(std::uint32_t i, std::uint32_t j, std::uint32_t step) const {
        return step * ordered_step_keys + first_key() + 8 * j <
               max(tile_.past + tile_.query + first_scored() + i + 1, prefix_);
    }

    __device__ __forceinline__ void find_largest(const float (&scores)[4][2], std::uint32_t step) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
#pragma unroll
            for (std::uint32_t j = 0; j < 2; ++j) {
                largest_[i] = sees(i, j, step) && scores[i][j] > largest_[i] ? scores[i][j] : largest_[i];
            }
        }
    }

    /// Takes the maximum among the lanes that have a query's scores.
    __device__ __forceinline__ void share_largest() {
#pragma unroll
        for (float& largest : largest_) {
#pragma unroll
            for (std::uint32_t apart = 1; apart < 8; apart *= 2) {
                const float other = __shfl_xor_sync(every_lane, largest, apart);
                largest = other > largest ? other : largest;
            }
        }
    }

    /// Computes the weights of a step's scores and adds the values by them.
    __device__ __forceinline__ void add(const float (&scores)[4][2], std::uint32_t step) {
        float* const weights = matrix(1);
        __syncwarp();  // the keys are read
#pragma unroll
        for (std::uint32_t j = 0; j < 2; ++j) {
            float of_key[4];
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const float weight =
                    ordered::exp_of(__fmul_rn(__fadd_rn(scores[i][j], -largest_[i]), attention_.scale));
                of_key[i] = sees(i, j, step) ? weight : 0.0F;
            }
            *reinterpret_cast<float4*>(weights + (first_key() + 8 * j) * weights_stride + first_scored()) = {
                of_key[0], of_key[1], of_key[2], of_key[3]};
        }
        __syncwarp();
        const float* const values = matrix(2) + 4 * mixed_piece();
        const float* const of_queries = weights + first_mixed();
#pragma unroll 2
        for (std::uint32_t p = 0; p < ordered_step_keys; ++p) {
            float value[4];
            load_4(values + p * row_floats, value);
#pragma unroll
            for (std::uint32_t i = 0; i < mixed_queries; i += 4) {
                float weight[4];
                load_4(of_queries + p * weights_stride + i, weight);
#pragma unroll
                for (std::uint32_t e = 0; e < 4; ++e) {
                    sums_[i + e] = __fadd_rn(sums_[i + e], weight[e]);  // unseen keys add zeros
#pragma unroll
                    for (std::uint32_t d = 0; d < 4; ++d) {
                        mixed_[i + e][d] = __fadd_rn(mixed_[i + e][d], __fmul_rn(value[d], weight[e]));
                    }
                }
            }
        }
        __syncwarp();  // weights and values are read before the next keys arrive
    }

    const Attention& attention_;
    const Tile& tile_;
    std::uint32_t prefix_;
    const float* queries_;
    const float* keys_;
    const PastKeys<float>& past_;
    float* page_;
    float* shared_;
    std::uint32_t lane_;
    float mixed_[mixed_queries][4] = {};
    float sums_[mixed_queries] = {};
    float largest_[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
};

template <std::uint32_t head_size>
__global__ void __launch_bounds__(ordered_prompt_threads, head_size == 128 ? 2 : 4)
    attend_prompts_in_order(Memory memory, Attention attention, Cache cache, std::uint32_t layer) {
    using OfHead = OrderedPromptTile<head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    float* const shared =
        reinterpret_cast<float*>(ordered_prompt_memory) + threadIdx.x / warp_lanes * OfHead::warp_floats;
    const std::uint32_t all = memory.batch->tiles * attention.heads;
    for (std::uint32_t i = (blockIdx.x * ordered_prompt_threads + threadIdx.x) / warp_lanes; i < all;
         i += gridDim.x * ordered_prompt_warps) {
        const Tile tile = memory.tiles[i / attention.heads];
        const std::uint32_t head = i % attention.heads;
        const std::uint32_t at = head * head_size;
        const std::uint32_t key_at = attention.key_head(head) * head_size;
        const float* const row =
            static_cast<const float*>(attention.queries) + std::size_t{tile.first_row} * attention.stride;
        float* const page = cached<float>(cache, layer, page_of(memory, tile.slot, tile.past + tile.query), 0) + key_at;
        const PastKeys<float> past = past_keys<float>(memory, cache, layer, tile.slot, key_at);
        OfHead of_head(attention, tile, prefix_of(memory, attention, tile.slot), row + at,
                       row + attention.query_width() + key_at, past, attention.is_first_of_keys(head) ? page : nullptr,
                       shared);
        of_head.attend();
        of_head.store(static_cast<float*>(attention.out) + std::size_t{tile.first_row} * attention.out_stride + at);
    }
}

void enqueue_prompts_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                              cudaStream_t stream) {
    with_tensor_head(attention.head_size, [&](auto size) {
        constexpr auto kernel = &attend_prompts_in_order<size()>;
        constexpr std::uint32_t shared =
            ordered_prompt_warps * OrderedPromptTile<size()>::warp_floats * std::uint32_t{sizeof(float)};
        allow_shared_bytes(kernel, shared);
        const std::uint64_t tiles = memory.most_rows / tile_queries + std::uint64_t{memory.slots};
        launch(kernel, "attention of prompts",
               {.blocks = blocks_for(tiles * attention.heads, ordered_prompt_warps, ordered_prompt_blocks),
                .threads = ordered_prompt_threads,
                .shared_bytes = shared,
                .chained = true},
               stream, memory, attention, cache, layer);
    });
}

}  // namespace sluice::decoder
