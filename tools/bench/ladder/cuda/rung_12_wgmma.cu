// 12, the copy engine and wgmma: one thread requests a whole tile, which arrives swizzled against bank conflicts, and a
// warpgroup's instruction multiplies 64 by 128 by 16 straight from shared memory: no operand passes through registers.
// Copying and multiplying still take turns; several blocks on a multiprocessor fill each other's gaps.
#include <cuda.h>

#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t tile = 128;
constexpr std::uint32_t depth = 64;
constexpr std::uint32_t row_bytes = depth * 2;
constexpr std::uint32_t threads = 128;
constexpr std::uint32_t operand_bytes = tile * row_bytes;
constexpr std::uint32_t shared_bytes = 2 * operand_bytes + 8 + hopper::pattern_bytes;

__global__ void __launch_bounds__(threads)
    multiply_wgmma(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, Size size,
                   __nv_bfloat16* out) {
    extern __shared__ uint4 memory[];
    const std::uint32_t of_a =
        (ptx::shared_address(memory) + hopper::pattern_bytes - 1) / hopper::pattern_bytes * hopper::pattern_bytes;
    const std::uint32_t of_b = of_a + operand_bytes;
    const std::uint32_t full = of_b + operand_bytes;
    const std::uint32_t row = blockIdx.x / (size.n / tile) * tile;
    const std::uint32_t column = blockIdx.x % (size.n / tile) * tile;
    if (threadIdx.x == 0) {
        ptx::barrier_init(full, 1);
        ptx::fence_barrier_init();
    }
    __syncthreads();
    float sums[2][tile / 2] = {};
    std::uint32_t parity = 0;
    for (std::uint32_t k = 0; k < size.k; k += depth, parity ^= 1) {
        if (threadIdx.x == 0) {
            ptx::arrive_expecting(full, 2 * operand_bytes);
            ptx::load_2d(of_a, &a_map, full, static_cast<int>(k), static_cast<int>(row));
            ptx::load_2d(of_b, &b_map, full, static_cast<int>(k), static_cast<int>(column));
        }
        ptx::wait(full, parity);
        wgmma::fence();
#pragma unroll
        for (std::uint32_t i = 0; i < row_bytes; i += 32) {
#pragma unroll
            for (std::uint32_t half = 0; half < 2; ++half) {
                wgmma::multiply<__nv_bfloat16, static_cast<int>(tile)>(
                    sums[half], wgmma::matrix(of_a + half * 64 * row_bytes) + wgmma::advance(i),
                    wgmma::matrix(of_b) + wgmma::advance(i));
            }
        }
        wgmma::commit();
        wgmma::wait<0>();
        __syncthreads();  // all have read what the next copies overwrite
    }
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
        for (std::uint32_t upper = 0; upper < 2; ++upper) {
            const std::uint32_t of_row = row + half * 64 + threadIdx.x / 32 * 16 + upper * 8 + lane / 4;
            __nv_bfloat16* const to = out + std::size_t{of_row} * size.n + column + lane % 4 * 2;
#pragma unroll
            for (std::uint32_t j = 0; j < tile / 8; ++j) {
                *reinterpret_cast<std::uint32_t*>(to + 8 * j) =
                    values::pack<__nv_bfloat16>(sums[half][4 * j + 2 * upper], sums[half][4 * j + 2 * upper + 1]);
            }
        }
    }
}

MadeProduct make_wgmma(const Size& size, const Operands& operands) {
    check_cuda(cudaFuncSetAttribute(&multiply_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
               "cudaFuncSetAttribute");
    const CUtensorMap a = hopper::map_of(operands.a, size.m, size.k, tile);
    const CUtensorMap b = hopper::map_of(operands.b, size.n, size.k, tile);
    const LaunchShape shape{
        .blocks = size.m / tile * (size.n / tile), .threads = threads, .shared_bytes = shared_bytes};
    return {[=](cudaStream_t stream) {
        launch(&multiply_wgmma, "wgmma", shape, stream, a, b, size, static_cast<__nv_bfloat16*>(operands.out));
    }};
}

}  // namespace

const Rung rung_12_wgmma{12, "TMA, swizzle, wgmma", Precision::bf16, {tile, tile, depth}, true, &make_wgmma};

}  // namespace sluice::ladder
