#include "tools/bench/ladder/cuda/plain.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t threads = 256;

__device__ double value_of(float x) {
    return x;
}
__device__ double value_of(__nv_bfloat16 x) {
    return __bfloat162float(x);
}

struct Squares {
    double off;
    double plain;
    unsigned long long unwritten;
};

__device__ double sum_of_warp(double x) {
    for (int i = 16; i > 0; i /= 2) {
        x += __shfl_down_sync(~0U, x, i);
    }
    return x;
}

/// blockIdx.y: index of the compared row.
template <class T, bool b_as_weights>
__global__ void compare(Size size, std::uint32_t rows, const T* a, const T* b, const T* out, Squares* squares) {
    const std::size_t row = rows == 1 ? 0 : std::size_t{blockIdx.y} * (size.m - 1) / (rows - 1);
    const std::size_t column = std::size_t{blockIdx.x} * threads + threadIdx.x;
    double off = 0;
    double plain = 0;
    if (column < size.n) {
        for (std::size_t k = 0; k < size.k; ++k) {
            plain += value_of(a[row * size.k + k]) *
                     value_of(b_as_weights ? b[column * size.k + k] : b[k * size.n + column]);
        }
        off = value_of(out[row * size.n + column]) - plain;
    }
    const double off_squared = sum_of_warp(off * off);
    const double plain_squared = sum_of_warp(plain * plain);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&squares->off, off_squared);
        atomicAdd(&squares->plain, plain_squared);
    }
}

template <class T>
__global__ void count_unwritten(const T* out, std::size_t count, Squares* squares) {
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * threads) {
        if (isnan(value_of(out[i]))) {
            atomicAdd(&squares->unwritten, 1ULL);
        }
    }
}

template <class T>
__global__ void fill(T* to, std::size_t count, float deviation, std::uint32_t seed) {
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * threads) {
        std::uint32_t x = static_cast<std::uint32_t>(i) * 0x9e3779b9U + seed * 0x85ebca6bU + 1;
        const auto next = [&] {
            x ^= x >> 16;
            x *= 0x7feb352dU;
            x ^= x >> 15;
            x *= 0x846ca68bU;
            x ^= x >> 16;
            return x;
        };
        const float u = (static_cast<float>(next() >> 9) + 0.5F) * 0x1p-23F;  // exact: neither 0 nor 1
        const float v = static_cast<float>(next() >> 8) * 0x1p-24F;
        const float value = deviation * sqrtf(-2 * logf(u)) * cosf(6.283185307F * v);
        if constexpr (sizeof(T) == 2) {
            to[i] = __float2bfloat16(value);
        } else {
            to[i] = value;
        }
    }
}

template <class T, bool b_as_weights>
double error_of(const Size& size, const Operands& operands) {
    constexpr double small = 4e9;  // products
    constexpr std::uint32_t sample = 64;
    constexpr std::uint32_t most_rows = 65535;  // of blocks
    const bool all = static_cast<double>(size.m) * size.n * size.k < small;
    const std::uint32_t rows = std::min(size.m, all ? most_rows : sample);
    const Squares none{};
    const DeviceMemory squares(std::as_bytes(std::span(&none, 1)));
    const auto* const out = static_cast<const T*>(operands.out);
    compare<T, b_as_weights><<<dim3((size.n + threads - 1) / threads, rows), threads>>>(
        size, rows, static_cast<const T*>(operands.a), static_cast<const T*>(operands.b), out, squares.as<Squares>());
    check_launch("compare");
    count_unwritten<<<1024, threads>>>(out, std::size_t{size.m} * size.n, squares.as<Squares>());
    check_launch("count_unwritten");
    Squares found{};
    check_cuda(cudaMemcpy(&found, squares.as(), sizeof found, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return found.unwritten > 0 ? std::numeric_limits<double>::quiet_NaN()
                               : relative_error(found.off, found.plain, static_cast<double>(rows) * size.n);
}

}  // namespace

double error_beside_plain(const Size& size, Precision precision, const Operands& operands) {
    return precision == Precision::bf16 ? error_of<__nv_bfloat16, true>(size, operands)
                                        : error_of<float, false>(size, operands);
}

void fill_normal(void* to, std::size_t count, Precision precision, float deviation, std::uint32_t seed) {
    if (precision == Precision::bf16) {
        fill<<<1024, threads>>>(static_cast<__nv_bfloat16*>(to), count, deviation, seed);
    } else {
        fill<<<1024, threads>>>(static_cast<float*>(to), count, deviation, seed);
    }
    check_launch("fill");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace sluice::ladder
