#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

/// Fp8Gemm's kernel, with Gemm's roles, tiles and stores. A row of shared memory is 128 of depth.
namespace sluice::gemm {

/// Multiplies a consumer's sums by the scales of their columns; `first`: the tile's first column. BoxEpilogue applies
/// those of rows.
template <class C>
__device__ __forceinline__ void scale_columns(float (&sums)[C::columns / 2], const float* scales, std::uint32_t columns,
                                              std::uint32_t first) {
#pragma unroll
    for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
        const std::uint32_t at = first + 8 * j + threadIdx.x % 4 * 2;
        const float2 two = at < columns ? ptx::load_global_8(scales + at) : float2{0, 0};
        sums[4 * j] *= two.x;
        sums[4 * j + 1] *= two.y;
        sums[4 * j + 2] *= two.x;
        sums[4 * j + 3] *= two.y;
    }
}

struct Fp8Target {
    BoxTarget boxes;
    const float* column_scales;
};

/// While one consumer adds up its sums, the tensor cores multiply for the other.
template <class C>
__device__ __forceinline__ void consume_fp8(const Arguments& arguments, const StepOperands& operands,
                                            const Fp8Target& target, const Layout<C>& layout, std::uint32_t consumer) {
    static_assert(C::blocks == 1 && !C::ping_pong);
    StepLoader<C> loader(arguments, operands, layout, consumer);
    BoxEpilogue<__nv_bfloat16, C> epilogue(arguments, target.boxes, layout, consumer);
    for (Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const auto column = static_cast<std::uint32_t>(tiles.column());
        Sums<C> all;
        epilogue.begin(all, static_cast<std::uint32_t>(tiles.row()), column);
        float sums[C::columns / 2] = {};
        for (std::uint32_t step = 0; step < arguments.steps; ++step) {
            loader.begin();
            const Matrices<C> matrices = loader.wait();
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < step_bytes; k += 32) {
                wgmma::multiply_e4m3<C::columns>(sums, matrices.a[0] + wgmma::advance(k),
                                                 matrices.b + wgmma::advance(k), k != 0);
            }
            wgmma::commit();
            loader.next();
            wgmma::wait<0>();
            loader.end();
#pragma unroll
            for (std::uint32_t i = 0; i < C::columns / 2; ++i) {
                all[0][i] += sums[i];
            }
        }
        scale_columns<C>(all[0], target.column_scales, arguments.columns, column);
        epilogue.store(all);
        if (tiles.last()) {
            epilogue.finish();
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
            }
        }
    }
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_fp8(const __grid_constant__ Arguments arguments, const __grid_constant__ StepOperands operands,
                 const __grid_constant__ Fp8Target target) {
    extern __shared__ __align__(pattern_bytes) std::uint8_t shared[];
    const Layout<C> layout(ptx::shared_address(shared));
    begin_block<C>(arguments.chained, [&] {
        StepLoader<C>::prepare(operands, layout);
        BoxEpilogue<__nv_bfloat16, C>::prepare(target.boxes, layout);
    });
    take_roles<C, registers_to_add_up>(
        [&] {
            StepLoader<C>::produce(arguments, operands, layout);
            BoxEpilogue<__nv_bfloat16, C>::produce(arguments, layout);
        },
        [&](std::uint32_t consumer) { consume_fp8<C>(arguments, operands, target, layout, consumer); });
}

}  // namespace sluice::gemm
