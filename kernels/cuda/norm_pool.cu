#include "kernels/cuda/norm_pool.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/cuda_error.hpp"
#include "kernels/cuda/half_values.hpp"
#include "kernels/cuda/values.cuh"

namespace sluice {
namespace {

constexpr int pool = NormPoolShape::pool;
constexpr float norm_epsilon = 1e-5F;  // as kernels/kernels.hpp has it
constexpr std::uint32_t threads = 544;
constexpr std::uint32_t warps = threads / 32;

struct Arguments {
    const void* in;
    const void* gamma;
    const void* beta;
    void* out;
    std::uint32_t items;
    std::uint32_t positions;
    std::uint32_t channels;
    bool tf32;
};

/// The same value in every thread; sums in the same order in every run.
__device__ float block_sum(float value, float* partial) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(~0U, value, offset);
    }
    __syncthreads();  // whoever reads an earlier sum has done so
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < warps; ++i) {
        sum += partial[i];
    }
    return sum;
}

/// A thread has `units` times 16 bytes of channels at the three positions of one pooled one. In: bf16 or fp32; Scale:
/// gamma's and beta's type, with as many values in 16 bytes; all of them stay in a multiprocessor's cache.
template <class In, class Scale, int units, int blocks>
__global__ void __launch_bounds__(threads, blocks) norm_relu_pool(const Arguments arguments) {
    constexpr int n = values::in_16_bytes<In>;
    __shared__ float partial[warps];
    const std::uint32_t row_units = arguments.channels / n;
    const std::uint32_t item_units = arguments.positions / pool * row_units;
    const float count = static_cast<float>(arguments.positions * arguments.channels);
    std::uint32_t first[units];  // value in the item, of the unit's first position; the others are a row apart
#pragma unroll
    for (int u = 0; u < units; ++u) {
        const std::uint32_t unit = threadIdx.x + u * threads;
        first[u] = unit / row_units * pool * arguments.channels + unit % row_units * n;
    }
    // In order, so that not all of gamma and beta occupy registers at once.
    const auto load_late = [&](const Scale* from, int u, int p) {
        uint4 v;
        asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from + first[u] + p * arguments.channels));
        return v;
    };
    const auto present = [&](int u) { return threadIdx.x + u * threads < item_units; };
    const auto load = [&](const auto* from, int u, int p) {
        return __ldg(reinterpret_cast<const uint4*>(from + first[u] + p * arguments.channels));
    };
    const auto* gamma = static_cast<const Scale*>(arguments.gamma);
    const auto* beta = static_cast<const Scale*>(arguments.beta);
    const std::size_t item_values = std::size_t{arguments.positions} * arguments.channels;
    for (std::uint32_t item = blockIdx.x; item < arguments.items; item += gridDim.x) {
        const In* in = static_cast<const In*>(arguments.in) + item * item_values;
        uint4 raw[units][pool] = {};
        float sum = 0;
#pragma unroll
        for (int u = 0; u < units; ++u) {
#pragma unroll
            for (int p = 0; p < pool && present(u); ++p) {
                raw[u][p] = load(in, u, p);
            }
        }
#pragma unroll
        for (int u = 0; u < units; ++u) {
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                float x[n];
                values::unpack(raw[u][p], x, In{});
#pragma unroll
                for (int v = 0; v < n; ++v) {
                    sum += x[v];
                }
            }
        }
        const float mean = block_sum(sum, partial) / count;
        float squares = 0;
#pragma unroll
        for (int u = 0; u < units; ++u) {
#pragma unroll
            for (int p = 0; p < pool && present(u); ++p) {
                float x[n];
                values::unpack(raw[u][p], x, In{});
#pragma unroll
                for (int v = 0; v < n; ++v) {
                    const float off = x[v] - mean;
                    squares = fmaf(off, off, squares);
                }
            }
        }
        const float scale = 1.0F / sqrtf(block_sum(squares, partial) / count + norm_epsilon);
        const float shift = -mean * scale;
#pragma unroll
        for (int u = 0; u < units; ++u) {
            if (!present(u)) {
                continue;
            }
            float best[n] = {};
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                float x[n], g[n], b[n];
                values::unpack(raw[u][p], x, In{});
                values::unpack(load_late(gamma, u, p), g, Scale{});
                values::unpack(load_late(beta, u, p), b, Scale{});
#pragma unroll
                for (int v = 0; v < n; ++v) {
                    best[v] = fmaxf(best[v], fmaf(fmaf(x[v], scale, shift), g[v], b[v]));
                }
            }
            const std::uint32_t unit = threadIdx.x + u * threads;
            const std::size_t at = item * (item_values / pool) + std::size_t{unit} * n;
            if constexpr (n == 8) {
                *reinterpret_cast<uint4*>(static_cast<In*>(arguments.out) + at) = values::pack_bf16(best);
            } else {
                *reinterpret_cast<uint4*>(static_cast<In*>(arguments.out) + at) =
                    values::pack_fp32(best, arguments.tf32);
            }
        }
    }
}

constexpr int bf16_units = 2;
constexpr int bf16_blocks = 2;  // a multiprocessor: while one waits for its sums, the other reads
constexpr int fp32_units = 4;
constexpr int fp32_blocks = 1;

}  // namespace

std::vector<std::byte> pack_norm(const NormPoolShape& shape, Precision precision, std::span<const float> values) {
    const std::vector<float> ordered = positions_first(values, shape.channels, shape.positions);
    return precision == Precision::bf16 ? encode_half(ordered, "norm") : encode(Precision::fp32, ordered);
}

NormPool::NormPool(const NormPoolShape& shape, Precision precision, const NormPoolMemory& memory)
    : shape_(shape), precision_(precision), memory_(memory) {
    static_assert(bf16_units * values::in_16_bytes<__nv_bfloat16> == fp32_units * values::in_16_bytes<float>);
    expects(shape.positions > 0 && shape.channels > 0 && shape.positions % pool == 0 && shape.channels % 8 == 0 &&
                std::uint64_t{shape.positions} * shape.channels <=
                    std::uint64_t{threads} * fp32_units * values::in_16_bytes<float> * pool,
            "norm: its sizes do not fit");
    int device = 0;
    int processors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    processors_ = static_cast<std::uint32_t>(processors);
}

void NormPool::enqueue(std::uint32_t items, cudaStream_t stream) const {
    if (items == 0) {
        return;
    }
    const Arguments arguments{.in = memory_.in,
                              .gamma = memory_.gamma,
                              .beta = memory_.beta,
                              .out = memory_.out,
                              .items = items,
                              .positions = shape_.positions,
                              .channels = shape_.channels,
                              .tf32 = precision_ == Precision::tf32};
    const bool bf16 = precision_ == Precision::bf16;
    const dim3 grid(std::min(items, processors_ * (bf16 ? bf16_blocks : fp32_blocks)));
    if (bf16) {
        norm_relu_pool<__nv_bfloat16, __half, bf16_units, bf16_blocks><<<grid, threads, 0, stream>>>(arguments);
    } else {
        norm_relu_pool<float, float, fp32_units, fp32_blocks><<<grid, threads, 0, stream>>>(arguments);
    }
    check_launch("norm");
}

}  // namespace sluice
