#include "kernels/cuda/classifier/symbol_statistics.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice {
namespace {

using namespace symbol_conv;

constexpr int taps = SymbolConvGpuShape::taps;
constexpr double norm_epsilon = 1e-5;  // as in kernels/convolution.hpp

constexpr std::uint32_t statistics_threads = 512;
constexpr std::uint32_t statistics_warps = statistics_threads / 32;

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

/// A pair of symbols `distance` apart, read by one tap and the tap that far after it.
struct EndPair {
    std::uint8_t symbol;  // counted from the first, or from the last position
    std::uint8_t distance;
    std::uint8_t tap;
};

/// Symbols 0 … 5 and the six after the last position are not read by all taps: the pairs that are read there.
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

/// One warp per item. `copied`: `inner` is read from shared memory.
template <bool copied>
__global__ void __launch_bounds__(statistics_threads, 1) symbol_statistics(const StatisticsArguments arguments) {
    extern __shared__ float4 statistics_shared[];
    const float* inner = arguments.inner;
    if constexpr (copied) {
        for (std::uint32_t i = threadIdx.x; i < inner_floats / 4; i += statistics_threads) {
            statistics_shared[i] = __ldg(reinterpret_cast<const float4*>(inner) + i);
        }
        __syncthreads();
        inner = reinterpret_cast<const float*>(statistics_shared);
    }
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    auto* symbols =
        reinterpret_cast<std::uint8_t*>(statistics_shared + (copied ? inner_floats / 4 : 0)) + warp * arguments.room;
    ptx::let_next_kernel_start();
    for (std::uint32_t item = blockIdx.x + warp * gridDim.x; item < arguments.items;
         item += gridDim.x * statistics_warps) {
        __syncwarp();  // all lanes are done with the previous item
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

std::uint32_t room(std::uint32_t length) {
    return (length + 15) / 16 * 16;
}

/// The kernel for items of `length`, and its shared memory.
struct Statistics {
    void (*kernel)(StatisticsArguments);
    std::uint32_t shared_bytes;
};

Statistics choose_statistics(std::uint32_t length, std::uint32_t block_shared_bytes) {
    constexpr auto inner_bytes = static_cast<std::uint32_t>(inner_floats * sizeof(float));
    const std::uint32_t symbol_bytes = statistics_warps * room(length);
    return inner_bytes + symbol_bytes <= block_shared_bytes
               ? Statistics{.kernel = &symbol_statistics<true>, .shared_bytes = inner_bytes + symbol_bytes}
               : Statistics{.kernel = &symbol_statistics<false>, .shared_bytes = symbol_bytes};
}

static_assert(inner_floats % 4 == 0);
static_assert(statistics_warps * most_length <= least_shared_bytes);

}  // namespace

void symbol_conv::allow_statistics(std::uint32_t length, std::uint32_t block_shared_bytes) {
    const Statistics statistics = choose_statistics(length, block_shared_bytes);
    allow_shared_bytes(statistics.kernel, statistics.shared_bytes);
}

void SymbolConvGpu::enqueue_statistics(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= most_items_, "symbol convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const Statistics statistics = choose_statistics(shape_.length, block_shared_bytes_);
    launch(statistics.kernel, "symbol statistics",
           {.blocks = std::min(items, multiprocessors_),
            .threads = statistics_threads,
            .shared_bytes = statistics.shared_bytes},
           stream,
           StatisticsArguments{.symbols = memory_.symbols,
                               .inner = memory_.inner,
                               .ends = memory_.ends,
                               .scales = memory_.scales,
                               .items = items,
                               .length = shape_.length,
                               .room = room(shape_.length),
                               .positions = shape_.positions(),
                               .channels = shape_.channels - shape_.padding});
}

}  // namespace sluice
