#include <algorithm>

#include "core/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/symbol_conv_gpu.hpp"
#include "kernels/cuda/symbol_conv_layout.hpp"
#include "kernels/cuda/values.cuh"

namespace sluice {
namespace {

using namespace symbol_conv;

constexpr int taps = SymbolConvGpuShape::taps;
constexpr int pool = SymbolConvGpuShape::pool;
constexpr double norm_epsilon = 1e-5;  // as kernels/kernels.hpp has it

constexpr std::uint32_t statistics_threads = 512;
constexpr std::uint32_t statistics_warps = statistics_threads / 32;
constexpr std::uint32_t most_length = 4096;  // of the symbols of one item for each warp in shared memory

struct StatisticsArguments {
    const std::uint8_t* symbols;
    const float* inner;
    const float* ends;
    float2* scales;
    std::uint32_t items;
    std::uint32_t length;
    std::uint32_t room;  // for the symbols of a warp's item
    std::uint32_t positions;
    std::uint32_t channels;
};

/// A pair of symbols a distance apart, seen by one tap and the tap that far after it.
struct EndPair {
    std::uint8_t symbol;  // from the begin, or from the last position on
    std::uint8_t distance;
    std::uint8_t tap;
};

/// Symbols 0 … 5 and the six after the last position are not seen by all taps: the pairs that are seen there.
struct EndPairs {
    static constexpr std::uint32_t count_at_begin = 112;
    static constexpr std::uint32_t count = 168;
    EndPair pairs[count];

    constexpr EndPairs() : pairs{} {
        std::uint32_t next = 0;
        for (int s = 0; s < taps - 1; ++s) {
            for (int d = 0; d < taps; ++d) {
                for (int k = 0; k <= s && k + d < taps; ++k) {
                    pairs[next++] = {static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(d),
                                     static_cast<std::uint8_t>(k)};
                }
            }
        }
        for (int s = 0; s < taps - 1; ++s) {
            for (int d = 0; s + d < taps - 1; ++d) {
                for (int k = s + 1; k + d < taps; ++k) {
                    pairs[next++] = {static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(d),
                                     static_cast<std::uint8_t>(k)};
                }
            }
        }
    }
};
__constant__ constexpr EndPairs end_pairs{};

__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(~0U, value, offset);
    }
    return value;
}

/// A warp an item.
__global__ void __launch_bounds__(statistics_threads, 1) symbol_statistics(const StatisticsArguments arguments) {
    extern __shared__ float inner[];
    for (std::uint32_t i = threadIdx.x; i < inner_floats / 4; i += statistics_threads) {
        reinterpret_cast<float4*>(inner)[i] = __ldg(reinterpret_cast<const float4*>(arguments.inner) + i);
    }
    __syncthreads();
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    auto* symbols = reinterpret_cast<std::uint8_t*>(inner + inner_floats) + warp * arguments.room;
    ptx::let_next_kernel_start();
    for (std::uint32_t item = blockIdx.x + warp * gridDim.x; item < arguments.items;
         item += gridDim.x * statistics_warps) {
        __syncwarp();  // all lanes are done with the item before
        const std::uint8_t* from = arguments.symbols + std::size_t{item} * arguments.length;
        for (std::uint32_t s = lane; s < arguments.length; s += 32) {
            symbols[s] = min(static_cast<std::uint32_t>(__ldg(from + s)), SymbolConvGpuShape::most_symbols);
        }
        __syncwarp();
        double sum = 0;
        double squares = 0;
        for (std::uint32_t s = taps - 1 + lane; s < arguments.positions; s += 32) {
            const std::uint32_t here = symbols[s];
            float found = inner[here];
#pragma unroll
            for (std::uint32_t d = 1; d < taps; ++d) {
                squares += static_cast<double>(found);
                found = inner[inner_pair_at(d) + here * table_rows + symbols[s + d]];
            }
            squares += static_cast<double>(found);
            sum += static_cast<double>(inner[inner_sums_at + here]);
        }
#pragma unroll
        for (std::uint32_t i = lane; i < (EndPairs::count + 31) / 32 * 32; i += 32) {
            const EndPair pair = end_pairs.pairs[min(i, EndPairs::count - 1)];
            const std::uint32_t s = pair.symbol + (i < EndPairs::count_at_begin ? 0 : arguments.positions);
            const std::uint32_t here = symbols[s];
            const std::size_t at =
                end_pair_at(pair.distance, pair.tap) + here * table_rows + symbols[s + pair.distance];
            const float square = __ldg(arguments.ends + at);
            const float value = __ldg(arguments.ends + end_sums_at + pair.tap * table_rows + here);
            squares += i < EndPairs::count ? static_cast<double>(square) : 0.0;
            sum += i < EndPairs::count && pair.distance == 0 ? static_cast<double>(value) : 0.0;
        }
        sum = warp_sum(sum);
        squares = warp_sum(squares);
        if (lane == 0) {
            const double count = static_cast<double>(arguments.positions) * arguments.channels;
            const double mean = sum / count;
            const double variance = fmax(squares / count - mean * mean, 0.0);
            const double scale = 1.0 / sqrt(variance + norm_epsilon);
            arguments.scales[item] = {static_cast<float>(scale), static_cast<float>(-mean * scale)};
        }
    }
}

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

std::uint32_t room(std::uint32_t length) {
    return (length + 15) / 16 * 16;
}

std::uint32_t statistics_shared_bytes(std::uint32_t length) {
    return static_cast<std::uint32_t>(inner_floats * sizeof(float)) + statistics_warps * room(length);
}

}  // namespace

SymbolConvGpu::SymbolConvGpu(const SymbolConvGpuShape& shape, Precision precision, std::uint32_t max_items,
                             const SymbolConvMemory& memory)
    : shape_(shape), precision_(precision), max_items_(max_items), memory_(memory) {
    expects(shape.length >= 2 * (taps - 1) && shape.length <= most_length && shape.positions() % pool == 0 &&
                shape.channels % 128 == 0 && shape.channels > 0 && shape.symbols <= SymbolConvGpuShape::most_symbols,
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
    allow(&symbol_statistics, statistics_shared_bytes(shape.length));
    allow(&symbol_gather<__half>, gather_shared_bytes);
    allow(&symbol_gather<float>, gather_shared_bytes);
}

void SymbolConvGpu::enqueue_statistics(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= max_items_, "symbol convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    symbol_statistics<<<std::min(items, processors_), statistics_threads, statistics_shared_bytes(shape_.length),
                        stream>>>({.symbols = memory_.symbols,
                                   .inner = memory_.inner,
                                   .ends = memory_.ends,
                                   .scales = memory_.scales,
                                   .items = items,
                                   .length = shape_.length,
                                   .room = room(shape_.length),
                                   .positions = shape_.positions(),
                                   .channels = shape_.channels});
    check_launch("symbol statistics");
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
