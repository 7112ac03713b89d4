#include "kernels/cuda/decoder/rows.hpp"

#include <type_traits>

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/prompt_pages.cuh"
#include "kernels/cuda/decoder/quantised_attention.hpp"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t row_threads = 128;
constexpr std::uint32_t row_warps = row_threads / warp_lanes;
constexpr std::uint32_t most_row_blocks = 16 * hopper_multiprocessors;

/// The first of a warp's rows, and the distance to the next one.
struct WarpRows {
    std::uint32_t first = (blockIdx.x * row_threads + threadIdx.x) / warp_lanes;
    std::uint32_t step = gridDim.x * row_warps;
};

/// Stores the sums of those values of row `row` of which each lane has eight, from column `first` on. Called by a warp.
__device__ __forceinline__ void store_sums(const Embedding& embedding, std::uint32_t row, std::uint32_t first,
                                           const float (&values)[8]) {
    RowSums sums{};
#pragma unroll
    for (const float value : values) {
        sums.values += value;
        sums.squares = fmaf(value, value, sums.squares);
    }
#pragma unroll
    for (std::uint32_t apart = 1; apart < summed_values / 8; apart *= 2) {
        sums.values += __shfl_xor_sync(every_lane, sums.values, apart);
        sums.squares += __shfl_xor_sync(every_lane, sums.squares, apart);
    }
    if (first % summed_values == 0 && first < embedding.width) {
        embedding.row_sums[(std::size_t{row} * embedding.width + first) / summed_values] = sums;
    }
}

template <class T>
__global__ void __launch_bounds__(row_threads) embed(Memory memory, Embedding embedding) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = memory.batch->rows;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const WarpRows all;
    for (std::uint32_t r = all.first; r < rows; r += all.step) {
        const Row row = memory.rows[r];
        const float* const position = embedding.positions + std::size_t{row.position} * embedding.position_stride;
        T* const to = static_cast<T*>(embedding.sums) + std::size_t{r} * embedding.stride;
        if constexpr (std::is_same_v<T, float>) {
            for (std::uint32_t i = lane; i < embedding.width; i += warp_lanes) {
                const float token =
                    static_cast<const float*>(embedding.tokens)[std::size_t{i} * embedding.token_stride + row.token];
                to[i] = __fadd_rn(token, position[i]);
            }
        } else {
            const T* const token = static_cast<const T*>(embedding.tokens) + std::size_t{row.token} * embedding.width;
            for (std::uint32_t first = 0; first < embedding.width; first += warp_lanes * 8) {
                const std::uint32_t i = first + lane * 8;
                alignas(16) float sums[8] = {};
                alignas(16) float others[8] = {};
                if (i < embedding.width) {
                    load_8(token + i, sums);
                    load_8(position + i, others);
                }
#pragma unroll
                for (std::uint32_t j = 0; j < 8; ++j) {
                    sums[j] += others[j];
                }
                if (i < embedding.width) {
                    store_8(to + i, sums);
                }
                if (embedding.row_sums != nullptr) {
                    store_sums(embedding, r, i, sums);
                }
            }
        }
    }
}

/// The same for tf32, whose tokens are stored as those of bf16.
__global__ void __launch_bounds__(row_threads) embed_tf32(Memory memory, Embedding embedding) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = memory.batch->rows;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const WarpRows all;
    for (std::uint32_t r = all.first; r < rows; r += all.step) {
        const Row row = memory.rows[r];
        const float* const position = embedding.positions + std::size_t{row.position} * embedding.position_stride;
        const float* const token =
            static_cast<const float*>(embedding.tokens) + std::size_t{row.token} * embedding.width;
        float* const to = static_cast<float*>(embedding.sums) + std::size_t{r} * embedding.stride;
        for (std::uint32_t i = lane; i < embedding.width; i += warp_lanes) {
            to[i] = token[i] + position[i];
        }
    }
}

/// Eight values of a row of `width` weights of tf32x3 or, in codes, of fp16x2.
template <bool in_codes>
__device__ __forceinline__ void load_parts(const __half* row, std::uint32_t width, std::uint32_t at,
                                           float (&values)[8]) {
    float rests[8];
    if constexpr (in_codes) {
        const auto* const codes = reinterpret_cast<const std::uint8_t*>(row + width);
        values::unpack_e4m3(*reinterpret_cast<const uint2*>(codes + at), rests);
    } else {
        load_8(row + width + at, rests);
    }
    constexpr float scale = 1 / (in_codes ? half_rest_scale * half_code_scale : half_rest_scale);
    load_8(row + at, values);
#pragma unroll
    for (std::uint32_t j = 0; j < 8; ++j) {
        values[j] = fmaf(rests[j], scale, values[j]);
    }
}

/// embed() for tf32x3 and fp16x2, whose tokens are in parts.
template <bool in_codes>
__global__ void __launch_bounds__(row_threads) embed_parts(Memory memory, Embedding embedding) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = memory.batch->rows;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const WarpRows all;
    for (std::uint32_t r = all.first; r < rows; r += all.step) {
        const Row row = memory.rows[r];
        const float* const position = embedding.positions + std::size_t{row.position} * embedding.position_stride;
        const __half* const token =
            static_cast<const __half*>(embedding.tokens) + std::size_t{row.token} * 2 * embedding.width;
        float* const to = static_cast<float*>(embedding.sums) + std::size_t{r} * embedding.stride;
        for (std::uint32_t i = lane * 8; i < embedding.width; i += warp_lanes * 8) {
            alignas(16) float sums[8];
            alignas(16) float others[8];
            load_parts<in_codes>(token, embedding.width, i, sums);
            load_8(position + i, others);
#pragma unroll
            for (std::uint32_t j = 0; j < 8; j += 4) {
                *reinterpret_cast<float4*>(to + i + j) = {sums[j] + others[j], sums[j + 1] + others[j + 1],
                                                          sums[j + 2] + others[j + 2], sums[j + 3] + others[j + 3]};
            }
        }
    }
}

/// Copies `count` values by a warp, four pieces of 16 bytes in flight at a time, unless they are fp32 and not so
/// aligned; 16-bit values come in multiples of 8.
template <class T>
__device__ void copy_by_warp(T* to, const T* from, std::uint32_t count) {
    constexpr std::uint32_t piece = 16 / sizeof(T);
    constexpr std::uint32_t together = 4;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    if constexpr (std::is_same_v<T, float>) {
        const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
        if (places % 16 != 0 || count % piece != 0) {
            for (std::uint32_t i = lane; i < count; i += warp_lanes) {
                to[i] = from[i];
            }
            return;
        }
    }
    for (std::uint32_t first = lane * piece; first < count; first += together * warp_lanes * piece) {
        uint4 pieces[together];
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const std::uint32_t at = first + i * warp_lanes * piece;
            pieces[i] = at < count ? load_16(from + at) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const std::uint32_t at = first + i * warp_lanes * piece;
            if (at < count) {
                *reinterpret_cast<uint4*>(to + at) = pieces[i];
            }
        }
    }
}

template <class T>
__global__ void __launch_bounds__(row_threads)
    write_cache(Memory memory, const T* keys, std::uint32_t stride, Cache cache, std::uint32_t layer) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = memory.batch->rows;
    const WarpRows all;
    for (std::uint32_t r = all.first; r < rows; r += all.step) {
        if (prompt_page_of(memory, r) != no_page) {
            continue;
        }
        const Row row = memory.rows[r];
        const std::uint32_t page = page_of(memory, row.slot, row.position);
        copy_by_warp(cached<T>(cache, layer, page, row.position % page_positions), keys + std::size_t{r} * stride,
                     2 * cache.width);
    }
}

template <class T>
__global__ void __launch_bounds__(row_threads) gather(Memory memory, const T* rows, T* to, std::uint32_t width) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t entries = memory.batch->entries;
    const WarpRows all;
    for (std::uint32_t e = all.first; e < entries; e += all.step) {
        copy_by_warp(to + std::size_t{e} * width, rows + std::size_t{memory.entries[e].last_row()} * width, width);
    }
}

LaunchShape for_warps(std::uint32_t rows) {
    return {.blocks = blocks_for(rows, row_warps, most_row_blocks), .threads = row_threads, .chained = true};
}

void enqueue_embedding(const Memory& memory, Precision precision, const Embedding& embedding, cudaStream_t stream) {
    if (precision == Precision::tf32) {
        launch(&embed_tf32, "embedding", for_warps(memory.most_rows), stream, memory, embedding);
        return;
    }
    if (precision == Precision::tf32x3 || precision == Precision::fp16x2) {
        const auto kernel = precision == Precision::fp16x2 ? &embed_parts<true> : &embed_parts<false>;
        launch(kernel, "embedding", for_warps(memory.most_rows), stream, memory, embedding);
        return;
    }
    with_type_of(precision, [&](auto value) {
        launch(&embed<decltype(value)>, "embedding", for_warps(memory.most_rows), stream, memory, embedding);
    });
}

void enqueue_cache_write(const Memory& memory, Precision precision, const void* keys, std::uint32_t stride,
                         const Cache& cache, std::uint32_t layer, cudaStream_t stream) {
    if (cache.kind != KvCache::as_computed) {
        enqueue_quantised_cache_write(memory, precision, keys, stride, cache, layer, stream);
        return;
    }
    with_type_of(precision, [&](auto value) {
        using T = decltype(value);
        launch(&write_cache<T>, "keys and values", for_warps(memory.most_rows), stream, memory,
               static_cast<const T*>(keys), stride, cache, layer);
    });
}

void enqueue_gather(const Memory& memory, Precision precision, const void* rows, void* to, std::uint32_t width,
                    cudaStream_t stream) {
    with_type_of(precision, [&](auto value) {
        using T = decltype(value);
        launch(&gather<T>, "wanted rows", for_warps(memory.slots), stream, memory, static_cast<const T*>(rows),
               static_cast<T*>(to), width);
    });
}

}  // namespace sluice::decoder
