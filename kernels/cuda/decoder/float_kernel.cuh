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

/// The two largest of each row of a tile. A thread's part of 64 rows' sums: in each of two rows, eight apart, two of
/// every eight columns.
template <class C>
class BestsEpilogue {
public:
    __device__ __forceinline__ BestsEpilogue(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                             std::uint32_t consumer)
        : arguments_(arguments),
          floats_(floats),
          lane_(threadIdx.x % warp_lanes),
          first_row_(consumer * gemm::product_rows + threadIdx.x % gemm::warpgroup_threads / warp_lanes * 16 +
                     lane_ / 4) {}

    __device__ __forceinline__ void store(const float (&sums)[C::columns / 2], std::uint32_t row,
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
    const gemm::Arguments& arguments_;
    const FloatProductArguments& floats_;
    std::uint32_t lane_;
    std::uint32_t first_row_;
};

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

template <class Type, class C>
FloatProductKernel make_float_kernel(FloatProductKernel::Function function) {
    return {.function = function,
            .tile = {.rows = C::rows, .columns = C::columns, .cluster_rows = C::cluster_rows},
            .step_depth = float_step_depth<Type>,
            .threads = C::threads,
            .shared_bytes = C::shared_bytes};
}

}  // namespace sluice::decoder
