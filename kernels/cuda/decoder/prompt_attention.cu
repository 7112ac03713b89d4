#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/matrices.cuh"
#include "kernels/cuda/decoder/quantised_cache.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t prompt_threads = 128;
constexpr std::uint32_t prompt_warps = prompt_threads / warp_lanes;
constexpr std::uint32_t prompt_blocks = 16 * 132;  // four times what an H200 runs at a time: tiles differ in keys
constexpr std::uint32_t key_rows = 16;             // of a step
static_assert(tile_queries == key_rows && page_positions == key_rows, "a tile's own keys are those of a page");

extern __shared__ uint4 prompt_memory[];

template <class T>
constexpr Precision precision_of = std::is_same_v<T, __half> ? Precision::fp16 : Precision::bf16;

/// 16 queries of a prompt in one head, which a warp takes past the keys and values up to its own, 16 at a time.
/// Vaswani et al. 2017; Milakov, Gimelshein 2018 (the softmax as it goes along).
template <class T, std::uint32_t head_size>
class PromptTile {
public:
    static constexpr std::uint32_t row_bytes = head_size * sizeof(T) + 16;  // padded: eight rows meet no bank twice
    static constexpr std::uint32_t matrix_bytes = key_rows * row_bytes;
    static constexpr std::uint32_t step_bytes = 2 * matrix_bytes;
    static constexpr std::uint32_t warp_bytes = 2 * step_bytes;  // a step is copied while another is used

    /// `shared`: the warp's. `queries` and `keys` are the first row's of the prompt, of the head.
    __device__ __forceinline__ PromptTile(const Attention& attention, const Tile& tile, const T* queries, const T* keys,
                                          std::uint32_t shared)
        : attention_(attention),
          tile_(tile),
          queries_(queries),
          keys_(keys),
          shared_(shared),
          lane_(threadIdx.x % warp_lanes) {}

    __device__ __forceinline__ void attend() {
        const std::uint32_t steps = tile_.query / key_rows + 1;
        copy(0);
        load_queries();
        for (std::uint32_t step = 0; step < steps; ++step) {
            if (step + 1 < steps) {
                copy(step + 1);
            } else {
                ptx::commit_copies();
            }
            ptx::wait_for_copies<1>();
            __syncwarp();
            add(step, step + 1 == steps);
            __syncwarp();  // the step's memory is read before it is copied to again
        }
        ptx::wait_for_copies<0>();
    }

    /// Keys and values of the tile's own rows, which were the last to be copied, into their page.
    __device__ __forceinline__ void remember(T* page) const {
        constexpr std::uint32_t row_pieces = head_size / 8;
        const std::uint32_t width = attention_.key_heads * head_size;
        const std::uint32_t from = keys(tile_.query / key_rows);
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows * row_pieces; i += warp_lanes) {
            const std::uint32_t piece = i + lane_;
            const std::uint32_t matrix = piece / (key_rows * row_pieces);
            const std::uint32_t row = piece / row_pieces % key_rows;
            const std::uint32_t column = piece % row_pieces;
            if (tile_.query + row < tile_.rows) {
                *reinterpret_cast<uint4*>(page + (2 * row + matrix) * width + column * 8) =
                    ptx::load_shared_16(from + matrix * matrix_bytes + row * row_bytes + column * 16);
            }
        }
    }

    template <KvCache kind>
    __device__ __forceinline__ void remember(const CodePage<kind>& page) const {
        constexpr std::uint32_t row_lanes = row_lanes_of<head_size>;
        const std::uint32_t from = keys(tile_.query / key_rows);
        const std::uint32_t at = lane_ % row_lanes * lane_codes;
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows; i += warp_lanes / row_lanes) {
            const std::uint32_t matrix = (i + lane_ / row_lanes) / key_rows;
            const std::uint32_t row = (i + lane_ / row_lanes) % key_rows;
            const std::uint32_t row_at = from + matrix * matrix_bytes + row * row_bytes + at * sizeof(T);
            float of[lane_codes];
            values::unpack(ptx::load_shared_16(row_at), reinterpret_cast<float(&)[8]>(of[0]), T{});
            values::unpack(ptx::load_shared_16(row_at + 16), reinterpret_cast<float(&)[8]>(of[8]), T{});
            const CodedPiece piece = quantise<kind, head_size>(of);
            if (tile_.query + row < tile_.rows) {
                store_piece<kind, head_size>(page, matrix, row, at, piece);
            }
        }
    }

    /// `to`: of the first row of the prompt.
    __device__ __forceinline__ void store(T* to) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t row = tile_.query + lane_ / 4 + 8 * i;
            if (row < tile_.rows) {
                T* const at = to + std::size_t{row} * attention_.out_stride + lane_ % 4 * 2;
#pragma unroll
                for (std::uint32_t j = 0; j < head_size / 8; ++j) {
                    *reinterpret_cast<std::uint32_t*>(at + 8 * j) =
                        values::pack<T>(mixed_[j][2 * i] / sums_[i], mixed_[j][2 * i + 1] / sums_[i]);
                }
            }
        }
    }

private:
    __device__ __forceinline__ std::uint32_t keys(std::uint32_t step) const {
        return shared_ + step % 2 * step_bytes;
    }

    __device__ __forceinline__ void load_queries() {
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t row = min(tile_.query + lane_ / 4 + i % 2 * 8, tile_.rows - 1);
                query_[k][i] = *reinterpret_cast<const std::uint32_t*>(queries_ + std::size_t{row} * attention_.stride +
                                                                       16 * k + i / 2 * 8 + lane_ % 4 * 2);
            }
        }
    }

    /// Keys and values beyond the prompt are zero: what they weigh is, too, but not what they might hold.
    __device__ __forceinline__ void copy(std::uint32_t step) const {
        constexpr std::uint32_t row_pieces = head_size / 8;
        const std::uint32_t width = attention_.key_heads * head_size;
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows * row_pieces; i += warp_lanes) {
            const std::uint32_t piece = i + lane_;
            const std::uint32_t matrix = piece / (key_rows * row_pieces);  // keys, values
            const std::uint32_t row = piece / row_pieces % key_rows;
            const std::uint32_t column = piece % row_pieces;
            const bool exists = step * key_rows + row < tile_.rows;
            const std::uint32_t from = exists ? step * key_rows + row : 0;
            ptx::copy_16(keys(step) + matrix * matrix_bytes + row * row_bytes + column * 16,
                         keys_ + std::size_t{from} * attention_.stride + matrix * width + column * 8, exists);
        }
        ptx::commit_copies();
    }

    __device__ __forceinline__ void add(std::uint32_t step, bool last) {
        float scores[2][4] = {};
        multiply_keys(keys(step), scores);
        if (last) {
            hide_later(scores);
        }
        std::uint32_t weights[4];
        weigh(scores, weights);
        const std::uint32_t of_values = keys(step) + matrix_bytes;
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; j += 2) {
            std::uint32_t two[4];
            load_matrices_across(two, of_values + lane_ % 16 * row_bytes + j * 16 + lane_ / 16 * 16);
            mma::multiply<precision_of<T>>(mixed_[j], weights, two[0], two[1]);
            mma::multiply<precision_of<T>>(mixed_[j + 1], weights, two[2], two[3]);
        }
    }

    /// Scores of keys 0 to 7, and of 8 to 15.
    __device__ __forceinline__ void multiply_keys(std::uint32_t of_keys, float (&scores)[2][4]) const {
        const std::uint32_t row = of_keys + (lane_ % 8 + lane_ / 16 * 8) * row_bytes + lane_ / 8 % 2 * 16;
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
            std::uint32_t key[4];
            mma::load_matrices(key, row + k * 32);
            mma::multiply<precision_of<T>>(scores[0], query_[k], key[0], key[1]);
            mma::multiply<precision_of<T>>(scores[1], query_[k], key[2], key[3]);
        }
    }

    /// Of the keys beside a tile's own queries each sees those up to it.
    __device__ __forceinline__ void hide_later(float (&scores)[2][4]) const {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t query = lane_ / 4 + i / 2 * 8;
                const std::uint32_t key = half * 8 + lane_ % 4 * 2 + i % 2;
                scores[half][i] = key <= query ? scores[half][i] : -INFINITY;
            }
        }
    }

    __device__ __forceinline__ void weigh(const float (&scores)[2][4], std::uint32_t (&weights)[4]) {
        constexpr float log2_e = 1.44269504F;
        const float scale = attention_.scale * log2_e;
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            float largest =
                fmaxf(fmaxf(scores[0][2 * i], scores[0][2 * i + 1]), fmaxf(scores[1][2 * i], scores[1][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 2));
            largest = fmaxf(largest, largest_[i]);
            const float kept = exp2f((largest_[i] - largest) * scale);
            largest_[i] = largest;
            float of[4];
            float sum = 0;
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                of[j] = exp2f((scores[j / 2][2 * i + j % 2] - largest) * scale);
                sum += of[j];
            }
            sum += __shfl_xor_sync(every_lane, sum, 1);
            sum += __shfl_xor_sync(every_lane, sum, 2);
            sums_[i] = fmaf(sums_[i], kept, sum);
            weights[i] = values::pack<T>(of[0], of[1]);
            weights[2 + i] = values::pack<T>(of[2], of[3]);
#pragma unroll
            for (auto& each : mixed_) {
                each[2 * i] *= kept;
                each[2 * i + 1] *= kept;
            }
        }
    }

    const Attention& attention_;
    const Tile& tile_;
    const T* queries_;
    const T* keys_;
    std::uint32_t shared_;
    std::uint32_t lane_;
    std::uint32_t query_[head_size / 16][4];
    float mixed_[head_size / 8][4] = {};
    float largest_[2] = {-INFINITY, -INFINITY};
    float sums_[2] = {0, 0};
};

template <class T, std::uint32_t head_size, KvCache kind>
__global__ void __launch_bounds__(prompt_threads)
    attend_prompts(Memory memory, Attention attention, Cache cache, std::uint32_t layer) {
    using OfHead = PromptTile<T, head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t shared = ptx::shared_address(prompt_memory) + threadIdx.x / warp_lanes * OfHead::warp_bytes;
    const std::uint32_t all = memory.batch->tiles * attention.heads;
    for (std::uint32_t i = (blockIdx.x * prompt_threads + threadIdx.x) / warp_lanes; i < all;
         i += gridDim.x * prompt_warps) {
        const Tile tile = memory.tiles[i / attention.heads];
        const std::uint32_t head = i % attention.heads;
        const std::uint32_t at = head * head_size;
        const std::uint32_t key_at = attention.key_head(head) * head_size;
        const T* const row = static_cast<const T*>(attention.queries) + std::size_t{tile.first_row} * attention.stride;
        OfHead of_head(attention, tile, row + at, row + attention.query_width() + key_at, shared);
        of_head.attend();
        if (attention.is_first_of_keys(head)) {
            const std::uint32_t page = page_of(memory, tile.slot, tile.query);
            if constexpr (kind == KvCache::as_computed) {
                of_head.remember(cached<T>(cache, layer, page, 0) + key_at);
            } else {
                of_head.remember(code_page<kind, head_size>(cache, layer, page, attention.key_head(head)));
            }
        }
        __syncwarp();  // before the next tile's keys are copied there
        of_head.store(static_cast<T*>(attention.out) + std::size_t{tile.first_row} * attention.out_stride + at);
    }
}

template <class T, std::uint32_t head_size>
auto prompt_kernel(KvCache kind) {
    return kind == KvCache::fp8    ? &attend_prompts<T, head_size, KvCache::fp8>
           : kind == KvCache::int8 ? &attend_prompts<T, head_size, KvCache::int8>
                                   : &attend_prompts<T, head_size, KvCache::as_computed>;
}

void enqueue_prompt_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, cudaStream_t stream) {
    with_narrow_type_of(precision, [&](auto value) {
        with_tensor_head(attention.head_size, [&](auto size) {
            using T = decltype(value);
            constexpr std::uint32_t shared = prompt_warps * PromptTile<T, size()>::warp_bytes;
            const auto kernel = prompt_kernel<T, size()>(cache.kind);
            check_cuda(
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
                "cudaFuncSetAttribute");
            const std::uint64_t tiles = memory.most_rows / tile_queries + std::uint64_t{memory.slots};
            launch(kernel, "attention of prompts",
                   {.blocks = blocks_for(tiles * attention.heads, prompt_warps, prompt_blocks),
                    .threads = prompt_threads,
                    .shared_bytes = shared,
                    .chained = true},
                   stream, memory, attention, cache, layer);
        });
    });
}

}  // namespace sluice::decoder
