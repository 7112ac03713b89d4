// 9, unrolled: all loops have fixed lengths and are written out; a lies transposed in shared memory, and everything
// moves in 16 bytes: four loads serve 64 products. A thread's square is four squares of 4 by 4, half a tile apart, so
// that neighbours' loads have no bank conflicts; the next step's elements are loaded to registers while this one's
// multiply.
#include "tools/bench/ladder/cuda/fp32.cuh"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t tile = 128;
constexpr std::uint32_t depth = 8;
constexpr std::uint32_t half = tile / 2;
constexpr std::uint32_t side = 8;
constexpr std::uint32_t threads = tile * tile / (side * side);
constexpr std::uint32_t padded = tile + 4;  // avoids bank conflicts of the transposed stores

__device__ __forceinline__ void take(float (&to)[side], const float* row, std::uint32_t at) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(row + at);
    *reinterpret_cast<float4*>(to + 4) = *reinterpret_cast<const float4*>(row + half + at);
}

__global__ void __launch_bounds__(threads, 2) multiply_unrolled(Size size, const float* a, const float* b, float* out) {
    __shared__ alignas(16) float of_a[2][depth][padded];
    __shared__ alignas(16) float of_b[2][depth][tile];
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t row = (warp / 2 * 4 + lane / 8) * 4;  // a warp's lanes: 4 rows by 8 columns of squares
    const std::uint32_t column = (warp % 2 * 8 + lane % 8) * 4;
    const std::uint32_t a_row = threadIdx.x / 2;
    const std::uint32_t a_k = threadIdx.x % 2 * 4;
    const std::uint32_t b_k = threadIdx.x / 32;
    const std::uint32_t b_column = threadIdx.x % 32 * 4;
    a += std::size_t{blockIdx.y * tile + a_row} * size.k + a_k;
    b += std::size_t{b_k} * size.n + blockIdx.x * tile + b_column;
    float4 next_a;
    float4 next_b;
    const auto fetch = [&](std::uint32_t first) {
        next_a = *reinterpret_cast<const float4*>(a + first);
        next_b = *reinterpret_cast<const float4*>(b + std::size_t{first} * size.n);
    };
    const auto put = [&](std::uint32_t stage) {
        of_a[stage][a_k][a_row] = next_a.x;
        of_a[stage][a_k + 1][a_row] = next_a.y;
        of_a[stage][a_k + 2][a_row] = next_a.z;
        of_a[stage][a_k + 3][a_row] = next_a.w;
        *reinterpret_cast<float4*>(&of_b[stage][b_k][b_column]) = next_b;
    };
    float sums[side][side] = {};
    fetch(0);
    put(0);
    __syncthreads();
    std::uint32_t stage = 0;
    for (std::uint32_t first = 0; first < size.k; first += depth, stage ^= 1) {
        const bool more = first + depth < size.k;
        if (more) {
            fetch(first + depth);
        }
#pragma unroll
        for (std::uint32_t k = 0; k < depth; ++k) {
            float of_row[side];
            float of_column[side];
            take(of_row, of_a[stage][k], row);
            take(of_column, of_b[stage][k], column);
#pragma unroll
            for (std::uint32_t i = 0; i < side; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < side; ++j) {
                    sums[i][j] = fmaf(of_row[i], of_column[j], sums[i][j]);
                }
            }
        }
        if (more) {
            put(stage ^ 1);
        }
        __syncthreads();
    }
#pragma unroll
    for (std::uint32_t i = 0; i < side; ++i) {
        float* const to =
            out + std::size_t{blockIdx.y * tile + i / 4 * half + row + i % 4} * size.n + blockIdx.x * tile + column;
        *reinterpret_cast<float4*>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
        *reinterpret_cast<float4*>(to + half) = {sums[i][4], sums[i][5], sums[i][6], sums[i][7]};
    }
}

}  // namespace

const Rung rung_09_unrolled{9,
                            "square, unrolled",
                            Precision::fp32,
                            {tile, tile, depth},
                            false,
                            &in_tiles<&multiply_unrolled, tile, tile, threads>};

}  // namespace sluice::ladder
