#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/decoder/float_epilogue.cuh"
#include "kernels/cuda/decoder/float_kernel.cuh"

/// The product's kernel in ping-pong, as Gemm's: a consumer multiplies both halves of 64 rows of a tile of its own, and
/// stores them while the other multiplies.
namespace sluice::decoder {

template <class Type, class C, bool bests>
__device__ __forceinline__ void consume_ping_pong(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                  const gemm::Layout<C>& layout, std::uint32_t consumer) {
    const gemm::Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t sharers = ranks.of_a() | ranks.of_b();
    constexpr std::uint32_t block_bytes = gemm::product_rows * gemm::step_bytes;
    using Values = BatchedEpilogue<C>;
    const Values values(arguments, floats, consumer);
    const BestsEpilogue<C> best_ones(arguments, floats, 0);
    gemm::Turns<C> turns(layout, consumer);
    ptx::Ring<C::stages> ring;
    ring.skip(turns.first() * arguments.steps);
    for (gemm::Tiles<C, C::turns> tiles(arguments, turns.first()); tiles.any(); tiles.next()) {
        const auto row = static_cast<std::uint32_t>(tiles.row());
        const auto column = static_cast<std::uint32_t>(tiles.column());
        typename Values::Sums sums = {};
        if constexpr (!bests) {
            values.begin(sums, row, column);
        }
        std::uint32_t used = C::stages;  // none yet
        turns.wait();
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            ptx::wait(layout.full(ring.stage), ring.parity);
            const std::uint64_t b = wgmma::matrix(layout.b(ring.stage));
            const std::uint64_t a = wgmma::matrix(layout.a(ring.stage));
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < gemm::step_bytes; k += 32) {
#pragma unroll
                for (std::uint32_t block = 0; block < C::blocks; ++block) {
                    wgmma::multiply<Type, C::columns>(sums[block], a + wgmma::advance(block * block_bytes + k),
                                                      b + wgmma::advance(k));
                }
            }
            wgmma::commit();
            wgmma::wait<1>();  // the step before is done
            if (used != C::stages) {
                gemm::free_stage<C>(layout.free(used), sharers);
            }
            used = ring.stage;
        }
        turns.pass_on();
        wgmma::wait<0>();
        gemm::free_stage<C>(layout.free(used), sharers);
        ring.skip((C::turns - 1) * arguments.steps);
        if constexpr (bests) {
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                best_ones.store(sums[block], row + block * gemm::product_rows, column);
            }
        } else {
            values.store(sums, row, column);
        }
        if (tiles.last()) {
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
            }
        }
    }
}

template <class Type, class C, bool bests>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_ping_pong(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                       const __grid_constant__ gemm::Arguments arguments,
                       const __grid_constant__ FloatProductArguments floats) {
    const std::uint32_t base = ptx::shared_address(float_memory);
    const gemm::Layout<C> layout((base + gemm::pattern_bytes - 1) / gemm::pattern_bytes * gemm::pattern_bytes);
    begin_float_product(layout, &a_map, &b_map);
    const std::uint32_t warpgroup = __shfl_sync(every_lane, threadIdx.x / gemm::warpgroup_threads, 0);
    if (warpgroup == C::consumers) {
        ptx::give_registers<C::producer_registers>();
        if (threadIdx.x == C::consumers * gemm::warpgroup_threads) {
            gemm::produce<C, float_step_depth<Type>>(arguments, layout, &a_map, &b_map);
        }
    } else {
        ptx::take_registers<C::consumer_registers>();
        consume_ping_pong<Type, C, bests>(arguments, floats, layout, warpgroup);
    }
}

/// 128 by 192, of which 8,448 rows by 768 columns give each consumer of an H200 one.
template <class Type>
FloatProductKernels make_float_products() {
    using C = gemm::Config<2, 2, 192, 5, 1, 2, 1, true>;
    return {.values = make_float_kernel<Type, C>(&multiply_ping_pong<Type, C, false>),
            .bests = make_float_kernel<Type, C>(&multiply_ping_pong<Type, C, true>)};
}

}  // namespace sluice::decoder
