#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/ptx_cluster.cuh"
#include "kernels/cuda/ptx_sm90a.cuh"

/// The kernel behind Fp8Gemm: Gemm's roles, tiles and way to memory. A row of shared memory is 128 of depth.
namespace sluice::gemm {

/// Multiplies a consumer's sums by the scales of their columns, from the tile's first on; Epilogue knows those of rows.
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

/// While one consumer adds up its sums, the tensor cores multiply for the other.
template <class C>
__device__ __forceinline__ void consume_fp8(const Arguments& arguments, const float* column_scales,
                                            const Layout<C>& layout, const CUtensorMap* out_map,
                                            const CUtensorMap* residual_map, std::uint32_t consumer) {
    static_assert(C::blocks == 1 && !C::ping_pong);
    const Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t sharers = ranks.of_a() | ranks.of_b();
    Epilogue<__nv_bfloat16, C> epilogue(arguments, layout, out_map, residual_map, consumer);
    ptx::Ring<C::stages> ring;
    for (Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        epilogue.begin(tiles.row(), tiles.column());
        float all[1][C::columns / 2] = {};
        float sums[C::columns / 2] = {};
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            ptx::wait(layout.full(ring.stage), ring.parity);
            const std::uint64_t b = wgmma::matrix(layout.b(ring.stage));
            const std::uint64_t a = wgmma::matrix(layout.a(ring.stage) + consumer * product_rows * step_bytes);
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < step_bytes; k += 32) {
                wgmma::multiply_e4m3<C::columns>(sums, a + wgmma::advance(k), b + wgmma::advance(k), k != 0);
            }
            wgmma::commit();
            wgmma::wait<0>();
            free_stage<C>(layout.free(ring.stage), sharers);
#pragma unroll
            for (std::uint32_t i = 0; i < C::columns / 2; ++i) {
                all[0][i] += sums[i];
            }
        }
        epilogue.load_bias();
        scale_columns<C>(all[0], column_scales, arguments.columns, static_cast<std::uint32_t>(tiles.column()));
        epilogue.store(all);
        if (tiles.last()) {
            ptx::wait_for_stores();  // they read this block's shared memory
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
            }
        }
    }
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_fp8(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                 const __grid_constant__ CUtensorMap out_map, const __grid_constant__ CUtensorMap residual_map,
                 const __grid_constant__ Arguments arguments, const float* column_scales) {
    extern __shared__ std::uint8_t shared[];
    const Layout<C> layout((ptx::shared_address(shared) + pattern_bytes - 1) / pattern_bytes * pattern_bytes);
    begin_product<C>(arguments, layout, &a_map, &b_map, &out_map);
    const std::uint32_t warpgroup = __shfl_sync(~0U, threadIdx.x / warpgroup_threads, 0);
    if (warpgroup == C::consumers) {
        ptx::give_registers<C::producer_registers>();
        if (threadIdx.x == C::consumers * warpgroup_threads) {
            produce<C>(arguments, layout, &a_map, &b_map);
        }
    } else {
        ptx::take_registers<C::consumer_registers>();
        consume_fp8<C>(arguments, column_scales, layout, &out_map, &residual_map, warpgroup);
    }
}

}  // namespace sluice::gemm
