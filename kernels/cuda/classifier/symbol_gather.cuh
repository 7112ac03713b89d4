#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// SymbolConvGpu's second kernel; see there.
namespace sluice::symbol_conv {

constexpr int taps = SymbolConvGpuShape::taps;
constexpr int pool = SymbolConvGpuShape::pool;
constexpr std::uint32_t block_threads = 896;

/// A block's sizes if `lanes` threads, 16 or 8, compute the channels of one pooled position: a slice or half of one.
template <std::uint32_t lanes>
struct Block {
    static constexpr std::uint32_t group_threads = lanes;
    static constexpr std::uint32_t groups = block_threads / lanes;  // pooled positions; six blocks of 56 for 336
    static constexpr std::uint32_t row_bytes = lanes * 16;          // of channels in shared memory
    static constexpr std::uint32_t parts = symbol_conv::row_bytes / row_bytes;  // of a slice
    static constexpr std::uint32_t tap_bytes = table_rows * row_bytes;
    static constexpr std::uint32_t table_bytes = SymbolConvGpuShape::taps * tap_bytes;
    static constexpr std::uint32_t batch_items = lanes * 8;  // whose symbols are in shared memory
    static constexpr std::uint32_t symbols =
        groups * pool + 8;  // of an item; taps - 1 more than positions, whole words
    static constexpr std::uint32_t shared_bytes = table_bytes + batch_items * (symbols + sizeof(float2));
    static_assert(symbols % 4 == 0 && batch_items * symbols % 8 == 0);
};
using WholeSlice = Block<16>;
using HalfSlice = Block<8>;
static_assert(HalfSlice::shared_bytes <= least_shared_bytes);

struct GatherArguments {
    const std::uint8_t* symbols;
    const std::uint8_t* table;
    const void* gamma;
    const void* beta;
    const float2* scales;
    void* out;
    std::uint32_t items;
    std::uint32_t length;
    std::uint32_t groups;
    std::uint32_t channels;
    std::uint32_t group_blocks;
    std::uint32_t item_ranges;
};

__device__ __forceinline__ void add(uint4& sum, uint4 row, __half) {
    auto* s = reinterpret_cast<__half2*>(&sum);
    const auto* r = reinterpret_cast<const __half2*>(&row);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        s[i] = __hadd2(s[i], r[i]);
    }
}

__device__ __forceinline__ void add(uint4& sum, uint4 row, float) {
    auto* s = reinterpret_cast<float*>(&sum);
    const auto* r = reinterpret_cast<const float*>(&row);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        s[i] += r[i];
    }
}

/// Not volatile: the table is constant after the block's first barrier, so that the compiler may reorder these loads.
template <std::size_t offset>
__device__ __forceinline__ uint4 read_row(std::uint32_t address) {
    uint4 v;
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "r"(address), "n"(offset));
    return v;
}

/// Adds the rows of taps `tap` to the last for the position whose first symbol's row is rows[0].
template <int tap, class B, class T>
__device__ __forceinline__ void add_taps(uint4& sum, std::uint32_t lane_table, const std::uint32_t* rows) {
    if constexpr (tap < taps) {
        add(sum, read_row<tap * B::tap_bytes>(lane_table + rows[tap]), T{});
        add_taps<tap + 1, B, T>(sum, lane_table, rows);
    }
}

/// Offset of the row of the symbol in byte `index` of `word`.
template <int index, class B>
__device__ __forceinline__ std::uint32_t row_offset(std::uint32_t word) {
    static_assert(256 % B::row_bytes == 0);
    return __byte_perm(word, 0, 0x4404 | index << 4) / (256 / B::row_bytes);
}

/// Copies a block's part of its slice to shared memory.
template <class B>
__device__ __forceinline__ void copy_table(uint4* to, const std::uint8_t* slice, std::uint32_t part) {
    constexpr std::uint32_t units = B::group_threads;  // of 16 bytes, in a row
    const auto* from = reinterpret_cast<const uint4*>(slice + part * B::row_bytes);
    for (std::uint32_t i = threadIdx.x; i < B::table_bytes / 16; i += block_threads) {
        to[i] = __ldg(from + i / units * (row_bytes / 16) + i % units);
    }
}

/// A thread computes 16 bytes of channels at one pooled position. The table's values are T, the output's Out.
template <class T, class Out, class B>
__global__ void __launch_bounds__(block_threads, 1) symbol_gather(const GatherArguments arguments) {
    constexpr int n = values::in_16_bytes<T>;
    extern __shared__ uint4 gather_shared[];
    auto* table = reinterpret_cast<std::uint8_t*>(gather_shared);
    auto* symbols = table + B::table_bytes;
    auto* scales = reinterpret_cast<float2*>(symbols + B::batch_items * B::symbols);
    const std::uint32_t range = blockIdx.x % arguments.item_ranges;
    const std::uint32_t group_block = blockIdx.x / arguments.item_ranges % arguments.group_blocks;
    const std::uint32_t part = blockIdx.x / arguments.item_ranges / arguments.group_blocks;  // of all slices
    copy_table<B>(gather_shared, arguments.table + part / B::parts * slice_bytes, part % B::parts);
    const std::uint32_t lane = threadIdx.x % B::group_threads;
    const std::uint32_t local_group = threadIdx.x / B::group_threads;
    const std::uint32_t group = group_block * B::groups + local_group;
    const std::uint32_t channel = part * (B::row_bytes / sizeof(T)) + lane * n;
    const bool present = group < arguments.groups;
    uint4 gamma[pool] = {};
    uint4 beta[pool] = {};
    if (present) {
#pragma unroll
        for (int i = 0; i < pool; ++i) {
            const std::size_t at = (std::size_t{group} * pool + i) * arguments.channels + channel;
            gamma[i] = __ldg(reinterpret_cast<const uint4*>(static_cast<const T*>(arguments.gamma) + at));
            beta[i] = __ldg(reinterpret_cast<const uint4*>(static_cast<const T*>(arguments.beta) + at));
        }
    }
    ptx::wait_for_previous_kernel();  // which computes the scales; all of the above reads only weights
    const std::uint32_t lane_table = ptx::shared_address(table) + lane * 16;
    const std::uint32_t first_word = local_group * pool / 4;
    const std::uint32_t shift = local_group * pool % 4 * 8;
    const std::uint32_t first_symbol = group_block * B::groups * pool;
    const std::uint32_t range_begin =
        static_cast<std::uint32_t>(std::uint64_t{arguments.items} * range / arguments.item_ranges);
    const std::uint32_t range_end =
        static_cast<std::uint32_t>(std::uint64_t{arguments.items} * (range + 1) / arguments.item_ranges);
    for (std::uint32_t begin = range_begin; begin < range_end; begin += B::batch_items) {
        const std::uint32_t count = min(B::batch_items, range_end - begin);
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < count * B::symbols; i += block_threads) {
            const std::uint32_t s = first_symbol + i % B::symbols;
            symbols[i] = s < arguments.length
                             ? min(static_cast<std::uint32_t>(__ldg(
                                       arguments.symbols + std::size_t{begin + i / B::symbols} * arguments.length + s)),
                                   SymbolConvGpuShape::most_symbols)
                             : 0;
        }
        for (std::uint32_t i = threadIdx.x; i < count; i += block_threads) {
            scales[i] = __ldg(arguments.scales + begin + i);
        }
        __syncthreads();
        if (!present) {
            continue;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto* words = reinterpret_cast<const std::uint32_t*>(symbols + i * B::symbols) + first_word;
            const std::uint32_t w1 = words[1];
            const std::uint32_t w2 = words[2];
            const std::uint32_t a = __funnelshift_r(words[0], w1, shift);
            const std::uint32_t b = __funnelshift_r(w1, w2, shift);
            const std::uint32_t c = w2 >> shift;
            const std::uint32_t rows[pool + taps - 1] = {row_offset<0, B>(a), row_offset<1, B>(a), row_offset<2, B>(a),
                                                         row_offset<3, B>(a), row_offset<0, B>(b), row_offset<1, B>(b),
                                                         row_offset<2, B>(b), row_offset<3, B>(b), row_offset<0, B>(c)};
            const float2 scale = scales[i];
            float best[n] = {};
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                uint4 sum = read_row<0>(lane_table + rows[p]);
                add_taps<1, B, T>(sum, lane_table, rows + p);
                float y[n], g[n], o[n];
                values::unpack(sum, y, T{});
                values::unpack(gamma[p], g, T{});
                values::unpack(beta[p], o, T{});
#pragma unroll
                for (int v = 0; v < n; ++v) {
                    best[v] = ptx::larger_or_nan(best[v], fmaf(fmaf(y[v], scale.x, scale.y), g[v], o[v]));
                }
            }
            values::store<Out>(arguments.out, std::size_t{begin + i} * arguments.groups + group, arguments.channels,
                               channel, best);
        }
    }
}

}  // namespace sluice::symbol_conv
