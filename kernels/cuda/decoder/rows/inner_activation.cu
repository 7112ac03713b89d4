#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/activation.cuh"
#include "kernels/cuda/ordered/gelu.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t inner_threads = 256;
constexpr std::uint32_t most_inner_blocks = 8 * hopper_multiprocessors;

template <bool in_order>
__device__ __forceinline__ float activated(float x, DecoderActivation activation) {
    switch (activation) {
        case DecoderActivation::gelu_tanh:
            return in_order ? ordered::gelu_of(x) : gemm::gelu_tanh(x);
        case DecoderActivation::gelu_erf:
            return in_order ? ordered::gelu_erf_of(x) : gemm::gelu_erf(x);
        default:
            return in_order ? ordered::silu_of(x) : gemm::silu(x);
    }
}

/// One value per thread.
template <Kept kept>
__global__ void __launch_bounds__(inner_threads) activate_floats(InnerActivation inner) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint64_t all = std::uint64_t{*inner.rows} * inner.inner;
    const std::uint64_t step = std::uint64_t{gridDim.x} * inner_threads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * inner_threads + threadIdx.x; i < all; i += step) {
        const auto row = static_cast<std::uint32_t>(i / inner.inner);
        const auto at = static_cast<std::uint32_t>(i - std::uint64_t{row} * inner.inner);
        const float* const from = static_cast<const float*>(inner.from) + std::size_t{row} * inner.from_stride + at;
        float value = activated<kept == Kept::as_is>(from[0], inner.activation);
        if (inner.gated) {
            value = __fmul_rn(value, from[inner.inner]);
        }
        keep<kept>(static_cast<float*>(inner.to) + std::size_t{row} * inner.to_stride, inner.to_stride, at, value);
    }
}

/// Eight values per thread. Gates are in the order of GemmShape::gated.
template <class T>
__global__ void __launch_bounds__(inner_threads) activate_narrow(InnerActivation inner) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t pieces = inner.inner / 8;
    const std::uint32_t all = *inner.rows * pieces;
    for (std::uint32_t i = blockIdx.x * inner_threads + threadIdx.x; i < all; i += gridDim.x * inner_threads) {
        const std::uint32_t row = i / pieces;
        const std::uint32_t at = i % pieces * 8;
        const T* const from_row = static_cast<const T*>(inner.from) + std::size_t{row} * inner.from_stride;
        const T* const from = from_row + (inner.gated ? 2 * at : at);
        float values[8];
        float others[8] = {};
        load_8(from, values);
        if (inner.gated) {
            load_8(from + gate_columns, others);
        }
#pragma unroll
        for (std::uint32_t j = 0; j < 8; ++j) {
            values[j] = activated<false>(values[j], inner.activation) * (inner.gated ? others[j] : 1.0F);
        }
        store_8(static_cast<T*>(inner.to) + std::size_t{row} * inner.to_stride + at, values);
    }
}

void enqueue_inner_activation(Precision precision, const InnerActivation& inner, cudaStream_t stream) {
    const bool is_narrow = precision == Precision::bf16 || precision == Precision::fp16;
    const std::uint64_t work = std::uint64_t{inner.most_rows} * inner.inner / (is_narrow ? 8 : 1);
    const auto kernel = precision == Precision::bf16     ? &activate_narrow<__nv_bfloat16>
                        : precision == Precision::fp16   ? &activate_narrow<__half>
                        : precision == Precision::tf32   ? &activate_floats<Kept::tf32>
                        : precision == Precision::tf32x3 ? &activate_floats<Kept::half_parts>
                        : precision == Precision::fp16x2 ? &activate_floats<Kept::half_codes>
                                                         : &activate_floats<Kept::as_is>;
    launch(kernel, "activation",
           {.blocks = blocks_for(work, inner_threads, most_inner_blocks), .threads = inner_threads, .chained = true},
           stream, inner);
}

}  // namespace sluice::decoder
