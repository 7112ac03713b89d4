#include "kernels/cuda/generator/product.hpp"

#include <cstddef>

#include "core/error.hpp"
#include "kernels/cuda/generator/instructions.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t product_stages = 4;
constexpr std::uint32_t product_threads = 256;
constexpr std::uint32_t a_row = product_rows + 4;  // it lies transposed; padded, or what is copied meets in few banks
constexpr std::uint32_t a_floats = product_depth * a_row;
constexpr std::uint32_t stage_floats = a_floats + product_depth * product_columns;
constexpr std::uint32_t product_shared_bytes = product_stages * stage_floats * sizeof(float);
constexpr std::uint32_t chain_steps = 512 / product_depth;

__device__ __forceinline__ float4& float4_at(float* at) {
    return *reinterpret_cast<float4*>(at);
}
__device__ __forceinline__ const float4& float4_at(const float* at) {
    return *reinterpret_cast<const float4*>(at);
}

/// out = before + sums, of a row of eight columns, four and four 32 further; then the sums are zero.
__device__ __forceinline__ void add_chain(const float* before, float (&sums)[8], float* out) {
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
        const float4 b = float4_at(before + half * 32);
        float* const s = sums + half * 4;
        float4_at(out + half * 32) = {__fadd_rn(b.x, s[0]), __fadd_rn(b.y, s[1]), __fadd_rn(b.z, s[2]),
                                      __fadd_rn(b.w, s[3])};
    }
#pragma unroll
    for (float& sum : sums) {
        sum = 0;
    }
}

/// Tiles of 128 by 128; a warp computes 32 by 64 elements, its lanes 8 by 8. The copy unit is three steps of depth
/// ahead.
__global__ void __launch_bounds__(product_threads, 2) multiply_in_order(Product product) {
    extern __shared__ float4 product_memory[];
    const std::uint32_t tile_columns = product.columns / product_columns;
    const std::uint32_t first_row = blockIdx.x / tile_columns * product_rows;
    const std::uint32_t first_column = blockIdx.x % tile_columns * product_columns;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    if (first_row >= *product.rows) {
        return;
    }
    const float* const shared = reinterpret_cast<const float*>(product_memory);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t row = warp / 2 * 32 + lane / 8 * 4;     // four, and four more 16 below
    const std::uint32_t column = warp % 2 * 64 + lane % 8 * 4;  // four, and four more 32 further
    const std::uint32_t copied_row = threadIdx.x / product_depth;
    const std::uint32_t copied_k = threadIdx.x % product_depth;
    const float* const from_a = product.in + std::size_t{first_row + copied_row} * product.depth + copied_k;
    const float* const from_b = product.weights + std::size_t{warp} * product.columns + first_column + lane * 4;
    const std::uint32_t base = ptx::shared_address(product_memory);
    const std::uint32_t to_a = base + (copied_k * a_row + copied_row) * 4;
    const std::uint32_t to_b = base + (a_floats + warp * product_columns + lane * 4) * 4;
    const std::uint32_t steps = product.depth / product_depth;
    const auto copy = [&](std::uint32_t step) {
        if (step < steps) {
            const std::uint32_t at = step % product_stages * stage_floats * 4;
#pragma unroll
            for (std::uint32_t i = 0; i < product_rows; i += product_threads / product_depth) {
                copy_float(to_a + at + i * 4, from_a + std::size_t{i} * product.depth + step * product_depth);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < product_depth; i += product_threads / 32) {
                ptx::copy_16(to_b + at + i * product_columns * 4,
                             from_b + std::size_t{step * product_depth + i} * product.columns, true);
            }
        }
        ptx::commit_copies();
    };
    for (std::uint32_t step = 0; step + 1 < product_stages; ++step) {
        copy(step);
    }
    float* const out = product.out + std::size_t{first_row + row} * product.columns + first_column + column;
    const float* const bias = product.bias + first_column + column;
    float sums[8][8] = {};
    for (std::uint32_t step = 0; step < steps; ++step) {
        ptx::wait_for_copies<product_stages - 2>();
        __syncthreads();  // this step is there, and the one before is no longer read
        copy(step + product_stages - 1);
        const float* const of_a = shared + step % product_stages * stage_floats + row;
        const float* const of_b = shared + step % product_stages * stage_floats + a_floats + column;
#pragma unroll
        for (std::uint32_t k = 0; k < product_depth; ++k) {
            float rows[8];
            float columns[8];
            float4_at(rows) = float4_at(of_a + k * a_row);
            float4_at(rows + 4) = float4_at(of_a + k * a_row + 16);
            float4_at(columns) = float4_at(of_b + k * product_columns);
            float4_at(columns + 4) = float4_at(of_b + k * product_columns + 32);
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < 8; ++j) {
                    sums[i][j] = __fmaf_rn(rows[i], columns[j], sums[i][j]);
                }
            }
        }
        if ((step + 1) % chain_steps == 0 || step + 1 == steps) {
            const bool first = step < chain_steps;
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
                float* const to = out + std::size_t{i / 4 * 16 + i % 4} * product.columns;
                add_chain(first ? bias : to, sums[i], to);
            }
        }
    }
}

void enqueue_product(const Product& product, cudaStream_t stream) {
    expects(product.most_rows % product_rows == 0 && product.columns % product_columns == 0 &&
                product.depth % product_depth == 0,
            "generator: a product that is not padded");
    check_cuda(
        cudaFuncSetAttribute(&multiply_in_order, cudaFuncAttributeMaxDynamicSharedMemorySize, product_shared_bytes),
        "cudaFuncSetAttribute");
    launch(&multiply_in_order, "generator's product",
           {.blocks = product.most_rows / product_rows * (product.columns / product_columns),
            .threads = product_threads,
            .shared_bytes = product_shared_bytes,
            .chained = true},
           stream, product);
}

}  // namespace sluice::generator
