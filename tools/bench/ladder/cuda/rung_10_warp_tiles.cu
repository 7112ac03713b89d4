// 10, warp tiles and asynchronous copies: the copy unit writes to shared memory, bypassing the registers, three steps
// of depth 16 ahead: no register waits for memory, and a barrier serves twice the products. A warp computes 32 by 64
// elements, its lanes 4 by 8: eight lanes read the same piece of a, four the same of b, and shared memory serves them
// as one.
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t tile = 128;
constexpr std::uint32_t depth = 16;
constexpr std::uint32_t stages = 4;
constexpr std::uint32_t threads = 256;
constexpr std::uint32_t a_row = tile + 4;  // a is transposed; padded against bank conflicts of the copies
constexpr std::uint32_t a_floats = depth * a_row;
constexpr std::uint32_t stage_floats = a_floats + depth * tile;
constexpr std::uint32_t shared_floats = stages * stage_floats;

/// Four bytes: neighbours in a row of a are in different rows of shared memory.
__device__ __forceinline__ void copy_4(std::uint32_t to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void take_two(float (&to)[8], const float* from, std::uint32_t apart) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
    *reinterpret_cast<float4*>(to + 4) = *reinterpret_cast<const float4*>(from + apart);
}

__global__ void __launch_bounds__(threads, 2)
    multiply_warp_tiles(Size size, const float* a, const float* b, float* out) {
    extern __shared__ float4 shared_memory[];
    const float* const shared = reinterpret_cast<const float*>(shared_memory);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t row = warp / 2 * 32 + lane / 8 * 4;     // four, and four more 16 below
    const std::uint32_t column = warp % 2 * 64 + lane % 8 * 4;  // four, and four more 32 further
    const std::uint32_t copied_row = threadIdx.x / depth;
    const std::uint32_t copied_k = threadIdx.x % depth;
    const float* const from_a = a + std::size_t{blockIdx.y * tile + copied_row} * size.k + copied_k;
    const float* const from_b = b + std::size_t{warp} * size.n + blockIdx.x * tile + lane * 4;
    const std::uint32_t base = ptx::shared_address(shared_memory);
    const std::uint32_t to_a = base + (copied_k * a_row + copied_row) * 4;
    const std::uint32_t to_b = base + (a_floats + warp * tile + lane * 4) * 4;
    const std::uint32_t steps = size.k / depth;
    const auto copy = [&](std::uint32_t step) {
        if (step < steps) {
            const std::uint32_t at = step % stages * stage_floats * 4;
#pragma unroll
            for (std::uint32_t i = 0; i < tile; i += threads / depth) {
                copy_4(to_a + at + i * 4, from_a + std::size_t{i} * size.k + step * depth);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < depth; i += threads / 32) {
                ptx::copy_16(to_b + at + i * tile * 4, from_b + std::size_t{step * depth + i} * size.n, true);
            }
        }
        ptx::commit_copies();
    };
    for (std::uint32_t step = 0; step + 1 < stages; ++step) {
        copy(step);
    }
    float sums[8][8] = {};
    for (std::uint32_t step = 0; step < steps; ++step) {
        ptx::wait_for_copies<stages - 2>();
        __syncthreads();  // this step has arrived, and the one before is no longer read
        copy(step + stages - 1);
        const float* const of_a = shared + step % stages * stage_floats + row;
        const float* const of_b = shared + step % stages * stage_floats + a_floats + column;
#pragma unroll
        for (std::uint32_t k = 0; k < depth; ++k) {
            float rows[8];
            float columns[8];
            take_two(rows, of_a + k * a_row, 16);
            take_two(columns, of_b + k * tile, 32);
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < 8; ++j) {
                    sums[i][j] = fmaf(rows[i], columns[j], sums[i][j]);
                }
            }
        }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 8; ++i) {
        float* const to =
            out + std::size_t{blockIdx.y * tile + row + i / 4 * 16 + i % 4} * size.n + blockIdx.x * tile + column;
        *reinterpret_cast<float4*>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
        *reinterpret_cast<float4*>(to + 32) = {sums[i][4], sums[i][5], sums[i][6], sums[i][7]};
    }
}

MadeProduct make_warp_tiles(const Size& size, const Operands& operands) {
    constexpr int bytes = shared_floats * sizeof(float);
    check_cuda(cudaFuncSetAttribute(&multiply_warp_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "cudaFuncSetAttribute");
    return {[size, operands](cudaStream_t stream) {
        const dim3 blocks(size.n / tile, size.m / tile);
        multiply_warp_tiles<<<blocks, threads, bytes, stream>>>(size, static_cast<const float*>(operands.a),
                                                                static_cast<const float*>(operands.b),
                                                                static_cast<float*>(operands.out));
        check_launch("warp tiles");
    }};
}

}  // namespace

const Rung rung_10_warp_tiles{10,    "warp tiles, cp.async", Precision::fp32, {tile, tile, depth},
                              false, &make_warp_tiles};

}  // namespace sluice::ladder
