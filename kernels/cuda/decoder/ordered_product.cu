#include "kernels/cuda/decoder/ordered_product.hpp"

#include <cstddef>

#include "core/error.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/gelu.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/generator/instructions.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

using generator::product_columns;
using generator::product_depth;
using generator::product_rows;

constexpr std::uint32_t ordered_stages = 4;
constexpr std::uint32_t ordered_product_threads = 256;
constexpr std::uint32_t ordered_a_row = product_rows + 4;  // it lies transposed; padded against bank conflicts
constexpr std::uint32_t ordered_a_floats = product_depth * ordered_a_row;
constexpr std::uint32_t ordered_stage_floats = ordered_a_floats + product_depth * product_columns;
constexpr std::uint32_t ordered_shared_bytes = ordered_stages * ordered_stage_floats * sizeof(float);
constexpr std::uint32_t ordered_chain_steps = 512 / product_depth;

extern __shared__ float4 ordered_product_memory[];

/// What a chain's sums become: a part of the product, or what the kernel is for.
enum class OrderedEnd : std::uint8_t { values, gelu, sums };

/// The sums of eight rows, four and four 16 further, by eight columns, four and four 32 further.
class OrderedSums {
public:
    float at[8][8] = {};

    /// Four rows at a time, so that what is to be added is on its way together. The sums are zero then.
    template <OrderedEnd end>
    __device__ __forceinline__ void add(const float* before, std::uint32_t before_stride, const float* residual,
                                        float* out, std::uint32_t stride) {
#pragma unroll
        for (std::uint32_t four = 0; four < 8; four += 4) {
            float of[4][8];
            load<end == OrderedEnd::sums>(before + std::size_t{four * 4} * before_stride, before_stride, of, four);
            if constexpr (end == OrderedEnd::sums) {
                load<false>(residual + std::size_t{four * 4} * stride, stride, of, four);
            }
            store<end == OrderedEnd::gelu>(of, out + std::size_t{four * 4} * stride, stride);
        }
#pragma unroll
        for (auto& row : at) {
#pragma unroll
            for (float& sum : row) {
                sum = 0;
            }
        }
    }

private:
    /// of = from + sums; into the sums instead if they are not done.
    template <bool keeps>
    __device__ __forceinline__ void load(const float* from, std::uint32_t stride, float (&of)[4][8],
                                         std::uint32_t first) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            float others[2][4];
            load_4(from + std::size_t{i} * stride, others[0]);
            load_4(from + std::size_t{i} * stride + 32, others[1]);
#pragma unroll
            for (std::uint32_t j = 0; j < 8; ++j) {
                of[i][j] = __fadd_rn(others[j / 4][j % 4], at[first + i][j]);
                if constexpr (keeps) {
                    at[first + i][j] = of[i][j];
                }
            }
        }
    }

    template <bool gelu>
    __device__ __forceinline__ static void store(const float (&of)[4][8], float* to, std::uint32_t stride) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            float values[8];
#pragma unroll
            for (std::uint32_t j = 0; j < 8; ++j) {
                values[j] = gelu ? gelu_of(of[i][j]) : of[i][j];
            }
            float* const row = to + std::size_t{i} * stride;
            *reinterpret_cast<float4*>(row) = {values[0], values[1], values[2], values[3]};
            *reinterpret_cast<float4*>(row + 32) = {values[4], values[5], values[6], values[7]};
        }
    }
};

/// As generator's kernel: tiles of 128 by 128; a warp computes 32 by 64 elements, its lanes 8 by 8. The copy unit is
/// three steps of depth ahead.
template <OrderedEnd end>
__global__ void __launch_bounds__(ordered_product_threads, 2)
    multiply_ordered(generator::Product product, float* residual) {
    const std::uint32_t tile_columns = product.columns / product_columns;
    const std::uint32_t first_row = blockIdx.x / tile_columns * product_rows;
    const std::uint32_t first_column = blockIdx.x % tile_columns * product_columns;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    if (first_row >= *product.rows) {
        return;
    }
    const float* const shared = reinterpret_cast<const float*>(ordered_product_memory);
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t warp = threadIdx.x / warp_lanes;
    const std::uint32_t row = warp / 2 * 32 + lane / 8 * 4;
    const std::uint32_t column = warp % 2 * 64 + lane % 8 * 4;
    const std::uint32_t copied_row = threadIdx.x / product_depth;
    const std::uint32_t copied_k = threadIdx.x % product_depth;
    const float* const from_a = product.in + std::size_t{first_row + copied_row} * product.depth + copied_k;
    const float* const from_b = product.weights + std::size_t{warp} * product.columns + first_column + lane * 4;
    const std::uint32_t base = ptx::shared_address(ordered_product_memory);
    const std::uint32_t to_a = base + (copied_k * ordered_a_row + copied_row) * 4;
    const std::uint32_t to_b = base + (ordered_a_floats + warp * product_columns + lane * 4) * 4;
    const std::uint32_t steps = product.depth / product_depth;
    const auto copy = [&](std::uint32_t step) {
        if (step < steps) {
            const std::uint32_t at = step % ordered_stages * ordered_stage_floats * 4;
#pragma unroll
            for (std::uint32_t i = 0; i < product_rows; i += ordered_product_threads / product_depth) {
                generator::copy_float(to_a + at + i * 4,
                                      from_a + std::size_t{i} * product.depth + step * product_depth);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < product_depth; i += ordered_product_threads / warp_lanes) {
                ptx::copy_16(to_b + at + i * product_columns * 4,
                             from_b + std::size_t{step * product_depth + i} * product.columns, true);
            }
        }
        ptx::commit_copies();
    };
    for (std::uint32_t step = 0; step + 1 < ordered_stages; ++step) {
        copy(step);
    }
    const std::size_t at = std::size_t{first_row + row} * product.columns + first_column + column;
    const float* const bias = product.bias + first_column + column;
    OrderedSums sums;
    for (std::uint32_t step = 0; step < steps; ++step) {
        ptx::wait_for_copies<ordered_stages - 2>();
        __syncthreads();  // this step is there, and the one before is no longer read
        copy(step + ordered_stages - 1);
        const float* const of_a = shared + step % ordered_stages * ordered_stage_floats + row;
        const float* const of_b = shared + step % ordered_stages * ordered_stage_floats + ordered_a_floats + column;
#pragma unroll
        for (std::uint32_t k = 0; k < product_depth; ++k) {
            float rows[2][4];
            float columns[2][4];
            load_4(of_a + k * ordered_a_row, rows[0]);
            load_4(of_a + k * ordered_a_row + 16, rows[1]);
            load_4(of_b + k * product_columns, columns[0]);
            load_4(of_b + k * product_columns + 32, columns[1]);
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < 8; ++j) {
                    sums.at[i][j] = __fmaf_rn(rows[i / 4][i % 4], columns[j / 4][j % 4], sums.at[i][j]);
                }
            }
        }
        if ((step + 1) % ordered_chain_steps == 0 && step + 1 < steps) {
            const bool first = step < ordered_chain_steps;
            sums.add<OrderedEnd::values>(first ? bias : product.out + at, first ? 0 : product.columns, nullptr,
                                         product.out + at, product.columns);
        }
    }
    const bool one_chain = steps <= ordered_chain_steps;
    sums.add<end>(one_chain ? bias : product.out + at, one_chain ? 0 : product.columns, residual + at,
                  (end == OrderedEnd::sums ? residual : product.out) + at, product.columns);
}

void enqueue_ordered_product(const OrderedProduct& ordered, cudaStream_t stream) {
    const generator::Product& product = ordered.product;
    expects(product.most_rows % product_rows == 0 && product.columns % product_columns == 0 &&
                product.depth % product_depth == 0 && product.depth > 0,
            "decoder: a product that is not padded");
    expects(!ordered.gelu || ordered.sums == nullptr, "decoder: a product that its kernels do not write");
    const auto kernel = ordered.gelu              ? &multiply_ordered<OrderedEnd::gelu>
                        : ordered.sums != nullptr ? &multiply_ordered<OrderedEnd::sums>
                                                  : &multiply_ordered<OrderedEnd::values>;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ordered_shared_bytes),
               "cudaFuncSetAttribute");
    launch(kernel, "decoder's product in order",
           {.blocks = product.most_rows / product_rows * (product.columns / product_columns),
            .threads = ordered_product_threads,
            .shared_bytes = ordered_shared_bytes,
            .chained = true},
           stream, product, ordered.sums);
}

}  // namespace sluice::decoder
