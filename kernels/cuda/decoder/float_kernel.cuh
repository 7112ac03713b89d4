#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/float_kernel.hpp"
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/ptx_cluster.cuh"
#include "kernels/cuda/ptx_sm90a.cuh"
#include "kernels/cuda/values.cuh"
#include "kernels/cuda/wgmma_wide.cuh"

/// Gemm's kernel with another way from sums to memory: straight from registers, as fp32.
namespace sluice::decoder {

extern __shared__ std::uint8_t float_memory[];

/// Values of a row that a step multiplies.
template <class Type>
constexpr std::uint32_t float_step_depth = gemm::step_bytes / (std::is_same_v<Type, wgmma::Tf32> ? 4 : 2);

/// Adds the products of a step of depth to the sums.
template <class Type, class C>
__device__ __forceinline__ void multiply_step(float (&sums)[C::columns / 2], std::uint64_t a, std::uint64_t b) {
#pragma unroll
    for (std::uint32_t k = 0; k < gemm::step_bytes; k += 32) {
        wgmma::multiply<Type, C::columns>(sums, a + wgmma::advance(k), b + wgmma::advance(k));
    }
}

/// A thread's part of a tile's sums: in each of two rows, eight apart, two of every eight columns.
template <class C>
class FloatEpilogue {
public:
    __device__ __forceinline__ FloatEpilogue(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                             std::uint32_t consumer)
        : arguments_(arguments),
          floats_(floats),
          lane_(threadIdx.x % warp_lanes),
          first_row_(consumer * gemm::product_rows + threadIdx.x % gemm::warpgroup_threads / warp_lanes * 16 +
                     lane_ / 4) {}

    __device__ __forceinline__ void store_values(float (&sums)[C::columns / 2], std::uint32_t row,
                                                 std::uint32_t column) const {
        const std::uint32_t rows = *arguments_.active;
#pragma unroll
        for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
            const std::uint32_t at = column + 8 * j + lane_ % 4 * 2;
            if (at >= arguments_.columns) {
                continue;
            }
            float values[4] = {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
            if (arguments_.bias != nullptr) {
                const float2 bias = ptx::load_global_8(arguments_.bias + at);
                values[0] += bias.x;
                values[1] += bias.y;
                values[2] += bias.x;
                values[3] += bias.y;
            }
            gemm::activate(values, arguments_.activation);
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                const std::uint32_t of_row = row + first_row_ + 8 * i;
                if (of_row < rows) {
                    store_two(std::size_t{of_row} * floats_.stride + at, values[2 * i], values[2 * i + 1]);
                }
            }
        }
    }

    __device__ __forceinline__ void store_bests(float (&sums)[C::columns / 2], std::uint32_t row,
                                                std::uint32_t column) const {
        const std::uint32_t rows = *arguments_.active;
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            BestTwo found;
            bool finite = true;
#pragma unroll
            for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
#pragma unroll
                for (std::uint32_t two = 0; two < 2; ++two) {
                    const float value = sums[4 * j + 2 * i + two];
                    const std::uint32_t at = column + 8 * j + lane_ % 4 * 2 + two;
                    if (at < arguments_.columns) {
                        finite = finite && isfinite(value);
                        found.look_at_next(value, at);
                    }
                }
            }
#pragma unroll
            for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
                found.join(found.of_lane(apart));
                finite = __shfl_xor_sync(every_lane, finite ? 1 : 0, apart) != 0 && finite;
            }
            const std::uint32_t of_row = row + first_row_ + 8 * i;
            if (lane_ % 4 == 0 && of_row < rows) {
                floats_.bests[std::size_t{of_row} * floats_.best_tiles + column / C::columns] = {
                    found.best.score, found.best.place | (finite ? 0 : nonfinite_mark), found.second};
            }
        }
    }

private:
    __device__ __forceinline__ void store_two(std::size_t at, float first, float second) const {
        if (floats_.residual != nullptr) {
            const float2 others = *reinterpret_cast<const float2*>(floats_.residual + at);
            first += others.x;
            second += others.y;
        }
        if (floats_.rounds_to_tf32) {
            first = values::round_tf32(first);
            second = values::round_tf32(second);
        }
        *reinterpret_cast<float2*>(floats_.out + at) = {first, second};
    }

    const gemm::Arguments& arguments_;
    const FloatProductArguments& floats_;
    std::uint32_t lane_;
    std::uint32_t first_row_;
};

template <class Type, class C, bool bests>
__device__ __forceinline__ void consume_floats(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                               const gemm::Layout<C>& layout, std::uint32_t consumer) {
    const gemm::Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t sharers = ranks.of_a() | ranks.of_b();
    const FloatEpilogue<C> epilogue(arguments, floats, consumer);
    ptx::Ring<C::stages> ring;
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        float sums[C::columns / 2] = {};
        std::uint32_t used = C::stages;  // none yet
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            ptx::wait(layout.full(ring.stage), ring.parity);
            const std::uint64_t b = wgmma::matrix(layout.b(ring.stage));
            const std::uint64_t a =
                wgmma::matrix(layout.a(ring.stage) + consumer * gemm::product_rows * gemm::step_bytes);
            wgmma::fence();
            multiply_step<Type, C>(sums, a, b);
            wgmma::commit();
            wgmma::wait<1>();  // the step before is done
            if (used != C::stages) {
                gemm::free_stage<C>(layout.free(used), sharers);
            }
            used = ring.stage;
        }
        wgmma::wait<0>();
        gemm::free_stage<C>(layout.free(used), sharers);
        const auto row = static_cast<std::uint32_t>(tiles.row());
        const auto column = static_cast<std::uint32_t>(tiles.column());
        if constexpr (bests) {
            epilogue.store_bests(sums, row, column);
        } else {
            epilogue.store_values(sums, row, column);
        }
        if (tiles.last()) {
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
            }
        }
    }
}

/// Barriers, then the kernel before this one.
template <class C>
__device__ __forceinline__ void begin_float_product(const gemm::Layout<C>& layout, const CUtensorMap* a_map,
                                                    const CUtensorMap* b_map) {
    if (threadIdx.x == 0) {
        ptx::prefetch_map(a_map);
        ptx::prefetch_map(b_map);
        for (std::uint32_t i = 0; i < C::stages; ++i) {
            ptx::barrier_init(layout.full(i), 1);
            ptx::barrier_init(layout.free(i), C::tile_consumers * (C::cluster_rows + C::cluster_columns - 1));
        }
        for (std::uint32_t consumer = 0; C::ping_pong && consumer < C::consumers; ++consumer) {
            ptx::barrier_init(layout.turn(consumer), 1);
        }
        ptx::fence_barrier_init();
    }
    if constexpr (C::cluster == 1) {
        __syncthreads();
    } else {
        __syncwarp();
        ptx::synchronize_cluster();
    }
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
}

template <class Type, class C, bool bests>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_to_floats(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
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
        consume_floats<Type, C, bests>(arguments, floats, layout, warpgroup);
    }
}

template <class Type, class C>
FloatProductKernel make_float_kernel(FloatProductKernel::Function function) {
    return {.function = function,
            .tile = {.rows = C::rows, .columns = C::columns, .cluster_rows = C::cluster_rows},
            .step_depth = float_step_depth<Type>,
            .threads = C::threads,
            .shared_bytes = C::shared_bytes};
}

/// 128 by 256 in clusters of two rows of tiles.
template <class Type, bool bests>
FloatProductKernel make_float_product() {
    using C = gemm::Config<2, 1, 256, 4, 1, 2, 1>;
    return make_float_kernel<Type, C>(&multiply_to_floats<Type, C, bests>);
}

}  // namespace sluice::decoder
