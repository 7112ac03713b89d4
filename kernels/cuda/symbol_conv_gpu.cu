#include <algorithm>

#include "core/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/symbol_conv_gpu.hpp"
#include "kernels/cuda/symbol_conv_layout.hpp"
#include "kernels/cuda/symbol_statistics.hpp"
#include "kernels/cuda/values.cuh"

namespace sluice {
namespace {

using namespace symbol_conv;

constexpr int taps = SymbolConvGpuShape::taps;
constexpr int pool = SymbolConvGpuShape::pool;
constexpr std::uint32_t block_groups = 56;  // pooled positions of a block; six blocks for 336
constexpr std::uint32_t block_threads = block_groups * 16;
constexpr std::uint32_t batch_items = 128;  // whose symbols are in shared memory
constexpr std::uint32_t block_symbols =
    block_groups * pool + 8;  // of an item; taps - 1 more than positions, whole words
constexpr std::uint32_t gather_shared_bytes = slice_bytes + batch_items * (block_symbols + sizeof(float2));
static_assert(block_symbols % 4 == 0 && batch_items * block_symbols % 8 == 0);

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
    bool tf32;
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

/// What is there does not change after the block's first barrier, so that the compiler may order these as it likes.
template <std::size_t offset>
__device__ __forceinline__ uint4 read_row(std::uint32_t address) {
    uint4 v;
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "r"(address), "n"(offset));
    return v;
}

/// Adds the rows of taps `tap` to the last for the position whose first symbol's row is rows[0].
template <int tap, class T>
__device__ __forceinline__ void add_taps(uint4& sum, std::uint32_t lane_table, const std::uint32_t* rows) {
    if constexpr (tap < taps) {
        add(sum, read_row<tap * tap_bytes>(lane_table + rows[tap]), T{});
        add_taps<tap + 1, T>(sum, lane_table, rows);
    }
}

/// 256 * byte `index` of `word`: where a symbol's row begins.
template <int index>
__device__ __forceinline__ std::uint32_t row_offset(std::uint32_t word) {
    static_assert(row_bytes == 256);
    return __byte_perm(word, 0, 0x4404 | index << 4);
}

/// Half a warp has the channels of one slice at one pooled position, 16 bytes a thread.
template <class T>
__global__ void __launch_bounds__(block_threads, 1) symbol_gather(const GatherArguments arguments) {
    constexpr int n = values::in_16_bytes<T>;
    extern __shared__ uint4 gather_shared[];
    auto* table = reinterpret_cast<std::uint8_t*>(gather_shared);
    auto* symbols = table + slice_bytes;
    auto* scales = reinterpret_cast<float2*>(symbols + batch_items * block_symbols);
    const std::uint32_t range = blockIdx.x % arguments.item_ranges;
    const std::uint32_t group_block = blockIdx.x / arguments.item_ranges % arguments.group_blocks;
    const std::uint32_t slice = blockIdx.x / arguments.item_ranges / arguments.group_blocks;
    const auto* from = reinterpret_cast<const uint4*>(arguments.table + slice * slice_bytes);
    for (std::uint32_t i = threadIdx.x; i < slice_bytes / 16; i += block_threads) {
        gather_shared[i] = __ldg(from + i);
    }
    const std::uint32_t local_group = threadIdx.x / 16;
    const std::uint32_t group = group_block * block_groups + local_group;
    const std::uint32_t channel = slice * (row_bytes / sizeof(T)) + threadIdx.x % 16 * n;
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
    ptx::wait_for_previous_kernel();  // which makes the scales; all of the above only weights
    const std::uint32_t lane_table = ptx::shared_address(table) + threadIdx.x % 16 * 16;
    const std::uint32_t first_word = local_group * pool / 4;
    const std::uint32_t shift = local_group * pool % 4 * 8;
    const std::uint32_t first_symbol = group_block * block_groups * pool;
    const std::uint32_t range_begin =
        static_cast<std::uint32_t>(std::uint64_t{arguments.items} * range / arguments.item_ranges);
    const std::uint32_t range_end =
        static_cast<std::uint32_t>(std::uint64_t{arguments.items} * (range + 1) / arguments.item_ranges);
    for (std::uint32_t begin = range_begin; begin < range_end; begin += batch_items) {
        const std::uint32_t count = min(batch_items, range_end - begin);
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < count * block_symbols; i += block_threads) {
            const std::uint32_t s = first_symbol + i % block_symbols;
            symbols[i] =
                s < arguments.length
                    ? min(static_cast<std::uint32_t>(
                              __ldg(arguments.symbols + std::size_t{begin + i / block_symbols} * arguments.length + s)),
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
            const auto* words = reinterpret_cast<const std::uint32_t*>(symbols + i * block_symbols) + first_word;
            const std::uint32_t w1 = words[1];
            const std::uint32_t w2 = words[2];
            const std::uint32_t a = __funnelshift_r(words[0], w1, shift);
            const std::uint32_t b = __funnelshift_r(w1, w2, shift);
            const std::uint32_t c = w2 >> shift;
            const std::uint32_t rows[pool + taps - 1] = {row_offset<0>(a), row_offset<1>(a), row_offset<2>(a),
                                                         row_offset<3>(a), row_offset<0>(b), row_offset<1>(b),
                                                         row_offset<2>(b), row_offset<3>(b), row_offset<0>(c)};
            const float2 scale = scales[i];
            float best[n] = {};
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                uint4 sum = read_row<0>(lane_table + rows[p]);
                add_taps<1, T>(sum, lane_table, rows + p);
                float y[n], g[n], o[n];
                values::unpack(sum, y, T{});
                values::unpack(gamma[p], g, T{});
                values::unpack(beta[p], o, T{});
#pragma unroll
                for (int v = 0; v < n; ++v) {
                    best[v] = fmaxf(best[v], fmaf(fmaf(y[v], scale.x, scale.y), g[v], o[v]));
                }
            }
            const std::size_t at = (std::size_t{begin + i} * arguments.groups + group) * arguments.channels + channel;
            if constexpr (n == 8) {
                ptx::store_global_16(static_cast<__nv_bfloat16*>(arguments.out) + at, values::pack_bf16(best));
            } else {
                ptx::store_global_16(static_cast<float*>(arguments.out) + at, values::pack_fp32(best, arguments.tf32));
            }
        }
    }
}

}  // namespace

SymbolConvGpu::SymbolConvGpu(const SymbolConvGpuShape& shape, Precision precision, std::uint32_t max_items,
                             const SymbolConvMemory& memory)
    : shape_(shape), precision_(precision), max_items_(max_items), memory_(memory) {
    expects(shape.length >= 2 * (taps - 1) && shape.length <= symbol_conv::most_length &&
                shape.positions() % pool == 0 && shape.channels % 128 == 0 && shape.channels > 0 &&
                shape.symbols <= SymbolConvGpuShape::most_symbols,
            "symbol convolution: its sizes do not fit");
    int device = 0;
    int processors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    processors_ = static_cast<std::uint32_t>(processors);
    const auto allow = [](auto kernel, std::size_t bytes) {
        check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                   "cudaFuncSetAttribute");
    };
    symbol_conv::allow_statistics(shape.length);
    allow(&symbol_gather<__half>, gather_shared_bytes);
    allow(&symbol_gather<float>, gather_shared_bytes);
}

void SymbolConvGpu::enqueue_convolution(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= max_items_, "symbol convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const auto value_bytes = precision_ == Precision::bf16 ? sizeof(__half) : sizeof(float);
    const auto slices = static_cast<std::uint32_t>(shape_.channels * value_bytes / row_bytes);
    const std::uint32_t group_blocks = (shape_.pooled() + block_groups - 1) / block_groups;
    const std::uint32_t ranges = std::clamp(processors_ / (slices * group_blocks), 1U, items);
    const GatherArguments arguments{.symbols = memory_.symbols,
                                    .table = static_cast<const std::uint8_t*>(memory_.table),
                                    .gamma = memory_.gamma,
                                    .beta = memory_.beta,
                                    .scales = memory_.scales,
                                    .out = memory_.out,
                                    .items = items,
                                    .length = shape_.length,
                                    .groups = shape_.pooled(),
                                    .channels = shape_.channels,
                                    .group_blocks = group_blocks,
                                    .item_ranges = ranges,
                                    .tf32 = precision_ == Precision::tf32};
    launch(precision_ == Precision::bf16 ? &symbol_gather<__half> : &symbol_gather<float>, "symbol convolution",
           {.blocks = slices * group_blocks * ranges,
            .threads = block_threads,
            .shared_bytes = gather_shared_bytes,
            .chained = true},
           stream, arguments);
}

}  // namespace sluice
