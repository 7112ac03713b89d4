#include "kernels/cuda/decoder/rows/rows.hpp"

#include <type_traits>

#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"

namespace sluice::decoder {

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
    for_each_row_of_warp(&memory.batch->rows, [&](std::uint32_t r, std::uint32_t lane) {
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
    });
}

/// The same for tf32, whose tokens are stored as those of bf16.
__global__ void __launch_bounds__(row_threads) embed_tf32(Memory memory, Embedding embedding) {
    for_each_row_of_warp(&memory.batch->rows, [&](std::uint32_t r, std::uint32_t lane) {
        const Row row = memory.rows[r];
        const float* const position = embedding.positions + std::size_t{row.position} * embedding.position_stride;
        const float* const token =
            static_cast<const float*>(embedding.tokens) + std::size_t{row.token} * embedding.width;
        float* const to = static_cast<float*>(embedding.sums) + std::size_t{r} * embedding.stride;
        for (std::uint32_t i = lane; i < embedding.width; i += warp_lanes) {
            to[i] = token[i] + position[i];
        }
    });
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
    for_each_row_of_warp(&memory.batch->rows, [&](std::uint32_t r, std::uint32_t lane) {
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
    });
}

template <class T>
__global__ void __launch_bounds__(row_threads) gather(Memory memory, const T* rows, T* to, std::uint32_t width) {
    for_each_row_of_warp(&memory.batch->entries, [&](std::uint32_t e, std::uint32_t) {
        copy_by_warp(to + std::size_t{e} * width, rows + std::size_t{memory.entries[e].last_row()} * width, width);
    });
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

void enqueue_gather(const Memory& memory, Precision precision, const void* rows, void* to, std::uint32_t width,
                    cudaStream_t stream) {
    with_type_of(precision, [&](auto value) {
        using T = decltype(value);
        launch(&gather<T>, "wanted rows", for_warps(memory.slots), stream, memory, static_cast<const T*>(rows),
               static_cast<T*>(to), width);
    });
}

}  // namespace sluice::decoder
