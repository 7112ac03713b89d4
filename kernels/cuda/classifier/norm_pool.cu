#include "kernels/cuda/classifier/norm_pool.hpp"

#include <algorithm>
#include <type_traits>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice {
namespace {

constexpr int pool = NormPoolShape::pool;
constexpr float norm_epsilon = 1e-5F;  // as in kernels/convolution.hpp
constexpr std::uint32_t threads = 544;
constexpr std::uint32_t warps = threads / 32;
constexpr int narrow_units = 2;
constexpr int narrow_blocks = 2;  // per multiprocessor: while one waits for its sums, the other reads
constexpr int fp32_units = 4;

struct Arguments {
    const void* in;
    const void* gamma;
    const void* beta;
    void* out;
    std::uint32_t items;
    std::uint32_t positions;
    std::uint32_t channels;
    std::uint32_t counted;  // values of an item without padding
};

/// Sums over the block, in every thread; added in the same order in every run.
__device__ void block_sums(float& a, float& b, float (&partial)[2][warps]) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        a += __shfl_xor_sync(~0U, a, offset);
        b += __shfl_xor_sync(~0U, b, offset);
    }
    __syncthreads();  // all threads have read earlier sums
    if (threadIdx.x % 32 == 0) {
        partial[0][threadIdx.x / 32] = a;
        partial[1][threadIdx.x / 32] = b;
    }
    __syncthreads();
    a = 0;
    b = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < warps; ++i) {
        a += partial[0][i];
        b += partial[1][i];
    }
}

/// A thread's share of an item: `units` times 16 bytes of channels at the three positions of a pooled one.
template <class In, int units>
class Share {
public:
    static constexpr int n = values::in_16_bytes<In>;

    /// `row`: values from one position to the next.
    __device__ Share(const Arguments& arguments, std::uint32_t row) : row_(row) {
        const std::uint32_t row_units = arguments.channels / n;
        const std::uint32_t item_units = arguments.positions / pool * row_units;
#pragma unroll
        for (int u = 0; u < units; ++u) {
            const std::uint32_t unit = threadIdx.x + u * threads;
            first_[u] = unit < item_units ? unit / row_units * pool * row_ + unit % row_units * n : nowhere;
        }
    }
    __device__ __forceinline__ bool has(int u) const {
        return first_[u] != nowhere;
    }
    /// 16 bytes of a tensor whose values are as wide as In's.
    template <class T>
    __device__ __forceinline__ uint4 load(const T* from, int u, int p) const {
        return has(u) ? __ldg(reinterpret_cast<const uint4*>(from + first_[u] + p * row_)) : uint4{};
    }
    /// Offset of unit u's maximum in the pooled item.
    __device__ __forceinline__ std::size_t pooled(int u) const {
        return (threadIdx.x + u * threads) * n;
    }

private:
    static constexpr std::uint32_t nowhere = ~0U;
    std::uint32_t row_;
    std::uint32_t first_[units];
};

/// best = max(best, gamma * y + beta), for eight values.
__device__ __forceinline__ void take_best(float (&best)[8], const float (&y)[8], const uint4& gamma,
                                          const uint4& beta) {
    float g[8];
    float b[8];
    values::unpack(gamma, g, __half{});
    values::unpack(beta, b, __half{});
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        best[i] = ptx::larger_or_nan(best[i], fmaf(y[i], g[i], b[i]));
    }
}

/// The same in fp16, with half as many instructions, for bf16, which has three bits less.
__device__ __forceinline__ void take_best(__half2 (&best)[4], const float (&y)[8], const uint4& gamma,
                                          const uint4& beta) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const __half2 two = __floats2half2_rn(y[2 * i], y[2 * i + 1]);
        best[i] = __hmax2_nan(best[i], __hfma2(two, values::half2_of(gamma, i), values::half2_of(beta, i)));
    }
}

__device__ __forceinline__ void to_floats(const float (&from)[8], float (&to)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        to[i] = from[i];
    }
}

__device__ __forceinline__ void to_floats(const __half2 (&from)[4], float (&to)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 two = __half22float2(from[i]);
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

template <class T>
struct Best {
    using Type = float[8];
};
template <>
struct Best<__nv_bfloat16> {
    using Type = __half2[4];
};

/// gamma and beta are fp16: normalised values are within its range. Mean and variance take one pass in fp32: where that
/// would lose anything, rounding the input to 16 bits already has.
template <class T>
__global__ void __launch_bounds__(threads, narrow_blocks) norm_narrow(const Arguments arguments) {
    __shared__ float partial[2][warps];
    const Share<T, narrow_units> share(arguments, arguments.channels);
    const auto* gamma = static_cast<const __half*>(arguments.gamma);
    const auto* beta = static_cast<const __half*>(arguments.beta);
    const std::size_t item_values = std::size_t{arguments.positions} * arguments.channels;
    const float count = static_cast<float>(arguments.counted);
    for (std::uint32_t item = blockIdx.x; item < arguments.items; item += gridDim.x) {
        const auto* in = static_cast<const T*>(arguments.in) + item * item_values;
        uint4 raw[narrow_units][pool];
#pragma unroll
        for (int u = 0; u < narrow_units; ++u) {
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                raw[u][p] = share.load(in, u, p);
            }
        }
        float sum = 0;
        float squares = 0;
#pragma unroll
        for (int u = 0; u < narrow_units; ++u) {
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                float x[8];
                values::unpack(raw[u][p], x, T{});
#pragma unroll
                for (const float value : x) {
                    sum += value;
                    squares = fmaf(value, value, squares);
                }
            }
        }
        block_sums(sum, squares, partial);
        const float mean = sum / count;
        const float scale = 1.0F / sqrtf(fmaxf(squares / count - mean * mean, 0.0F) + norm_epsilon);
        const float shift = -mean * scale;
#pragma unroll
        for (int u = 0; u < narrow_units; ++u) {
            typename Best<T>::Type best = {};
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                float x[8];
                values::unpack(raw[u][p], x, T{});
#pragma unroll
                for (float& value : x) {
                    value = fmaf(value, scale, shift);
                }
                take_best(best, x, share.load(gamma, u, p), share.load(beta, u, p));
            }
            float out[8];
            to_floats(best, out);
            if (share.has(u)) {
                ptx::store_global_16(static_cast<T*>(arguments.out) + item * (item_values / pool) + share.pooled(u),
                                     values::pack<T>(out));
            }
        }
    }
}

/// Two passes over the registers. For tf32x3 the input is in two parts, the output fp32.
template <Precision precision>
__global__ void __launch_bounds__(threads, 1) norm_fp32(const Arguments arguments) {
    constexpr std::uint32_t parts = parts_of(precision);
    using Out = std::conditional_t<precision == Precision::tf32, values::Tf32, float>;
    __shared__ float partial[2][warps];
    const Share<float, fp32_units> share(arguments, arguments.channels);
    const Share<float, fp32_units> from(arguments, parts * arguments.channels);
    const std::size_t item_values = std::size_t{arguments.positions} * arguments.channels;
    const float count = static_cast<float>(arguments.counted);
    const float padding = static_cast<float>(item_values - arguments.counted);
    for (std::uint32_t item = blockIdx.x; item < arguments.items; item += gridDim.x) {
        const auto* in = static_cast<const float*>(arguments.in) + item * parts * item_values;
        float x[fp32_units][pool][4];
        float sum = 0;
        float unused = 0;
#pragma unroll
        for (int u = 0; u < fp32_units; ++u) {
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                values::unpack(from.load(in, u, p), x[u][p], float{});
                if constexpr (parts == 2) {
                    float rest[4];
                    values::unpack(from.load(in + arguments.channels, u, p), rest, float{});
#pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x[u][p][v] += rest[v];
                    }
                }
                sum += (x[u][p][0] + x[u][p][1]) + (x[u][p][2] + x[u][p][3]);
            }
        }
        block_sums(sum, unused, partial);
        const float mean = sum / count;
        float squares = 0;
#pragma unroll
        for (int u = 0; u < fp32_units; ++u) {
#pragma unroll
            for (int p = 0; p < pool; ++p) {
#pragma unroll
                for (float& value : x[u][p]) {
                    value -= mean;
                    squares = share.has(u) ? fmaf(value, value, squares) : squares;
                }
            }
        }
        block_sums(squares, unused, partial);
        squares = fmaf(-padding * mean, mean, squares);  // padding contributed (0 - mean)^2 each
        const float scale = 1.0F / sqrtf(squares / count + norm_epsilon);
#pragma unroll
        for (int u = 0; u < fp32_units; ++u) {
            float best[4] = {};
#pragma unroll
            for (int p = 0; p < pool; ++p) {
                float g[4], b[4];
                values::unpack(share.load(static_cast<const float*>(arguments.gamma), u, p), g, float{});
                values::unpack(share.load(static_cast<const float*>(arguments.beta), u, p), b, float{});
#pragma unroll
                for (int v = 0; v < 4; ++v) {
                    best[v] = ptx::larger_or_nan(best[v], fmaf(x[u][p][v] * scale, g[v], b[v]));
                }
            }
            if (share.has(u)) {
                values::store<Out>(arguments.out, item, item_values / pool, share.pooled(u), best);
            }
        }
    }
}

}  // namespace

std::vector<std::byte> pack_norm(const NormPoolShape& shape, Precision precision, std::span<const float> values) {
    const std::vector<float> ordered = positions_first(values, shape.channels, shape.positions);
    return element_bytes(precision) == 2 ? encode_half(ordered, "norm") : encode(Precision::fp32, ordered);
}

NormPool::NormPool(const NormPoolShape& shape, Precision precision, const NormPoolMemory& memory)
    : shape_(shape), precision_(precision), memory_(memory) {
    static_assert(narrow_units * values::in_16_bytes<__nv_bfloat16> == fp32_units * values::in_16_bytes<float>);
    expects(shape.positions > 0 && shape.channels > 0 && shape.positions % pool == 0 && shape.channels % 8 == 0 &&
                shape.padding < shape.channels &&
                std::uint64_t{shape.positions} * shape.channels <=
                    std::uint64_t{threads} * fp32_units * values::in_16_bytes<float> * pool,
            "norm: its sizes do not fit");
    multiprocessors_ = count_multiprocessors();
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
                              .counted = shape_.positions * (shape_.channels - shape_.padding)};
    const dim3 grid(std::min(items, multiprocessors_ * (element_bytes(precision_) == 2 ? narrow_blocks : 1)));
    if (precision_ == Precision::bf16) {
        norm_narrow<__nv_bfloat16><<<grid, threads, 0, stream>>>(arguments);
    } else if (precision_ == Precision::fp16) {
        norm_narrow<__half><<<grid, threads, 0, stream>>>(arguments);
    } else if (precision_ == Precision::tf32) {
        norm_fp32<Precision::tf32><<<grid, threads, 0, stream>>>(arguments);
    } else if (precision_ == Precision::tf32x3) {
        norm_fp32<Precision::tf32x3><<<grid, threads, 0, stream>>>(arguments);
    } else {
        norm_fp32<Precision::fp32><<<grid, threads, 0, stream>>>(arguments);
    }
    check_launch("norm");
}

}  // namespace sluice
