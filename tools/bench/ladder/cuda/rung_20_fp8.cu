// 20, fp8: e4m3, four bits of significance and a scale for each row of either factor. The tensor cores multiply them
// twice as fast as bf16, and half as many bytes move; but they keep some 14 bits of a sum and truncate the rest. So the
// 128 products of a stage are added up there, and the stage's sums in fp32 by the CUDA cores (promotion), while the
// other warpgroup multiplies. Scales are multiplied in before the result is rounded to bf16. This is Fp8Gemm. Rounding
// the operands is outside of its time, as a model rounds its weights once and activations where it writes them; what it
// costs is shown beside the error against the rounded ones.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <memory>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/gemm/fp8_gemm.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t round_threads = 256;

/// A matrix in e4m3 with scales, and its rounded values in bf16.
struct Fp8Factor {
    explicit Fp8Factor(std::size_t rows, std::size_t depth)
        : e4m3(rows * depth), scales(rows * sizeof(float)), kept(rows * depth * sizeof(__nv_bfloat16)) {}

    DeviceMemory e4m3;
    DeviceMemory scales;
    DeviceMemory kept;
};

/// One block per row. The scale is a power of two that puts the largest value between 128 and 256, of e4m3's 448, so
/// that rounded values times scale are exact in bf16.
__global__ void round_to_e4m3(const __nv_bfloat16* from, std::uint32_t depth, __nv_fp8_storage_t* to, float* scales,
                              __nv_bfloat16* kept) {
    __shared__ unsigned int largest_bits;
    const std::size_t first = std::size_t{blockIdx.x} * depth;
    if (threadIdx.x == 0) {
        largest_bits = 0;
    }
    __syncthreads();
    float largest = 0;
    for (std::uint32_t k = threadIdx.x; k < depth; k += round_threads) {
        largest = fmaxf(largest, fabsf(__bfloat162float(from[first + k])));
    }
    atomicMax(&largest_bits, __float_as_uint(largest));  // ordered like the values, which are nonnegative
    __syncthreads();
    int exponent = 0;
    static_cast<void>(frexpf(__uint_as_float(largest_bits), &exponent));  // largest < 2^exponent
    const float scale = ldexpf(1.0F, exponent - 8);
    for (std::uint32_t k = threadIdx.x; k < depth; k += round_threads) {
        const __nv_fp8_storage_t value =
            __nv_cvt_float_to_fp8(__bfloat162float(from[first + k]) / scale, __NV_SATFINITE, __NV_E4M3);
        to[first + k] = value;
        kept[first + k] = __float2bfloat16(__half2float(__half(__nv_cvt_fp8_to_halfraw(value, __NV_E4M3))) * scale);
    }
    if (threadIdx.x == 0) {
        scales[blockIdx.x] = scale;
    }
}

std::shared_ptr<Fp8Factor> round_factor(const void* values, std::uint32_t rows, std::uint32_t depth) {
    auto factor = std::make_shared<Fp8Factor>(rows, depth);
    round_to_e4m3<<<rows, round_threads>>>(static_cast<const __nv_bfloat16*>(values), depth,
                                           factor->e4m3.as<__nv_fp8_storage_t>(), factor->scales.as<float>(),
                                           factor->kept.as<__nv_bfloat16>());
    check_launch("round_to_e4m3");
    return factor;
}

struct Fp8Product {
    std::shared_ptr<Fp8Factor> a;
    std::shared_ptr<Fp8Factor> b;
    Fp8Gemm product;
};

Fp8Product product_of_e4m3(const Size& size, const Operands& operands) {
    const auto a = round_factor(operands.a, size.m, size.k);
    const auto b = round_factor(operands.b, size.n, size.k);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return {a, b,
            Fp8Gemm({.rows = size.m, .columns = size.n, .depth = size.k}, Fp8Sums::promoted,
                    {.a = a->e4m3.as(),
                     .b = b->e4m3.as(),
                     .a_scales = a->scales.as<float>(),
                     .b_scales = b->scales.as<float>(),
                     .bias = nullptr,
                     .residual = nullptr,
                     .out = operands.out})};
}

MadeProduct make_fp8(const Size& size, const Operands& operands) {
    const Fp8Product made = product_of_e4m3(size, operands);
    return {.enqueue = [made](cudaStream_t stream) { made.product.enqueue(stream); },
            .path = made.product.path(),
            .rounded = Operands{.a = made.a->kept.as(), .b = made.b->kept.as(), .out = operands.out}};
}

}  // namespace

const Rung rung_20_fp8{20, "fp8 e4m3 with promotion", Precision::bf16, {1, 8, 16}, true, &make_fp8};

}  // namespace sluice::ladder
