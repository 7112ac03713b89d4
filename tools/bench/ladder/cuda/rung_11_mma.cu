// 11, mma.sync: from here on bf16 with sums in fp32, on the tensor cores. A warp's instruction multiplies 16 by 8 by 16
// where 32 lanes' fused multiply-adds were 32 products; ldmatrix brings operands to where the instruction wants them.
#include <cuda_bf16.h>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/values.cuh"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t tile = 128;
constexpr std::uint32_t depth = 64;  // 128 bytes: a row of shared memory, its eight pieces swizzled
constexpr std::uint32_t row_bytes = depth * 2;
constexpr std::uint32_t stages = 3;
constexpr std::uint32_t threads = 256;
constexpr std::uint32_t operand_bytes = tile * row_bytes;
constexpr std::uint32_t shared_bytes = stages * 2 * operand_bytes;
constexpr int down = 4;    // products of 16 rows that a warp has sums for: 64 rows
constexpr int across = 4;  // of 8 columns: 32

__device__ __forceinline__ std::uint32_t swizzled(std::uint32_t row, std::uint32_t piece) {
    return row * row_bytes + (piece ^ row % 8) * 16;
}

__global__ void __launch_bounds__(threads, 2)
    multiply_mma(Size size, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* out) {
    extern __shared__ uint4 shared[];
    const std::uint32_t base = ptx::shared_address(shared);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t first_row = warp / 4 * 64;
    const std::uint32_t first_column = warp % 4 * 32;
    const std::uint32_t steps = size.k / depth;
    const auto copy = [&](std::uint32_t step) {
        if (step < steps) {
            const std::uint32_t to = base + step % stages * 2 * operand_bytes;
#pragma unroll
            for (std::uint32_t i = 0; i < tile * 8 / threads; ++i) {
                const std::uint32_t row = threadIdx.x / 8 + i * (threads / 8);
                const std::uint32_t piece = threadIdx.x % 8;
                const std::uint32_t k = step * depth + piece * 8;
                ptx::copy_16(to + swizzled(row, piece), a + std::size_t{blockIdx.y * tile + row} * size.k + k, true);
                ptx::copy_16(to + operand_bytes + swizzled(row, piece),
                             b + std::size_t{blockIdx.x * tile + row} * size.k + k, true);
            }
        }
        ptx::commit_copies();
    };
    for (std::uint32_t step = 0; step + 1 < stages; ++step) {
        copy(step);
    }
    float sums[down][across][4] = {};
    for (std::uint32_t step = 0; step < steps; ++step) {
        ptx::wait_for_copies<stages - 2>();
        __syncthreads();
        copy(step + stages - 1);
        const std::uint32_t of_a = base + step % stages * 2 * operand_bytes;
        const std::uint32_t of_b = of_a + operand_bytes;
#pragma unroll
        for (std::uint32_t k = 0; k < depth / 16; ++k) {
            std::uint32_t rows[down][4];
            std::uint32_t columns[across / 2][4];
#pragma unroll
            for (std::uint32_t i = 0; i < down; ++i) {
                mma::load_matrices(rows[i], of_a + swizzled(first_row + i * 16 + lane % 16, 2 * k + lane / 16));
            }
#pragma unroll
            for (std::uint32_t j = 0; j < across / 2; ++j) {
                mma::load_matrices(columns[j], of_b + swizzled(first_column + j * 16 + lane % 16, 2 * k + lane / 16));
            }
#pragma unroll
            for (std::uint32_t i = 0; i < down; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < across; ++j) {
                    const std::uint32_t upper = j % 2;
                    mma::multiply<Precision::bf16>(sums[i][j], rows[i], columns[j / 2][upper],
                                                   columns[j / 2][2 + upper]);
                }
            }
        }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < down; ++i) {
#pragma unroll
        for (std::uint32_t upper = 0; upper < 2; ++upper) {
            const std::uint32_t row = blockIdx.y * tile + first_row + i * 16 + upper * 8 + lane / 4;
            __nv_bfloat16* const to = out + std::size_t{row} * size.n + blockIdx.x * tile + first_column + lane % 4 * 2;
#pragma unroll
            for (std::uint32_t j = 0; j < across; ++j) {
                *reinterpret_cast<std::uint32_t*>(to + j * 8) =
                    values::pack<__nv_bfloat16>(sums[i][j][2 * upper], sums[i][j][2 * upper + 1]);
            }
        }
    }
}

std::function<void(cudaStream_t)> make_mma(const Size& size, const Operands& operands) {
    check_cuda(cudaFuncSetAttribute(&multiply_mma, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
               "cudaFuncSetAttribute");
    return [size, operands](cudaStream_t stream) {
        const dim3 blocks(size.n / tile, size.m / tile);
        multiply_mma<<<blocks, threads, shared_bytes, stream>>>(size, static_cast<const __nv_bfloat16*>(operands.a),
                                                                static_cast<const __nv_bfloat16*>(operands.b),
                                                                static_cast<__nv_bfloat16*>(operands.out));
        check_launch("mma");
    };
}

}  // namespace

const Rung rung_11_mma{11, "mma.sync", Precision::bf16, {tile, tile, depth}, false, &make_mma};

}  // namespace sluice::ladder
