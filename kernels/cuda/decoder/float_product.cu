#include "kernels/cuda/decoder/float_product.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/decoder/float_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::decoder {
namespace {

const FloatProductKernels& float_kernels_of(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return bf16_float_product();
        case Precision::fp16:
            return fp16_float_product();
        case Precision::tf32:
            return tf32_float_product();
        case Precision::tf32x3:
            return half_part_float_product();
        default:
            throw ContractViolation("decoder: a product in a precision that the tensor cores do not have");
    }
}

/// Of a matrix of `rows` contiguous rows, for copies of `box_rows` times 128 bytes.
CUtensorMap float_map_of(Precision precision, const FloatProductKernel& kernel, const void* matrix, std::uint32_t rows,
                         std::uint32_t depth, std::uint32_t box_rows) {
    if (precision == Precision::tf32x3) {
        constexpr std::uint64_t half_bytes = 2;
        const TensorAxis axes[] = {{depth, 0, kernel.step_depth},
                                   {2, depth * half_bytes, 1},  // parts
                                   {rows, 2 * depth * half_bytes, box_rows}};
        return make_tensor_map(Precision::fp16, matrix, axes);
    }
    const TensorAxis axes[] = {{depth, 0, kernel.step_depth}, {rows, depth * number_bytes(precision), box_rows}};
    return make_tensor_map(precision, matrix, axes);
}

std::uint32_t tiles_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

}  // namespace

void FloatProduct::use_wgmma(Precision precision) {
    const FloatProductKernels& kernels = float_kernels_of(precision);
    kernel_ = memory_.bests != nullptr ? &kernels.bests : &kernels.values;
    tile_columns_ = kernel_->tile.columns;
    a_map_ = float_map_of(precision, *kernel_, memory_.a, shape_.rows, shape_.depth, kernel_->tile.rows);
    b_map_ = float_map_of(precision, *kernel_, memory_.b, shape_.columns, shape_.depth,
                          kernel_->tile.columns / kernel_->tile.cluster_rows);
    clusters_ = count_clusters(
        reinterpret_cast<const void*>(kernel_->function),
        {.blocks = kernel_->tile.cluster_rows, .threads = kernel_->threads, .shared_bytes = kernel_->shared_bytes});
}

void FloatProduct::enqueue_wgmma(cudaStream_t stream) const {
    const GemmTile& tile = kernel_->tile;
    const std::uint32_t tile_rows = tiles_up(shape_.rows, tile.rows * tile.cluster_rows);
    const std::uint32_t tile_columns = tiles_up(shape_.columns, tile.columns);
    const auto clusters =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{tile_rows} * tile_columns, clusters_));
    // What runs at the same time is about square.
    const double height = tile.rows * tile.cluster_rows;
    const auto square = static_cast<std::uint32_t>(std::lround(std::sqrt(clusters * tile.columns / height)));
    const gemm::Arguments arguments{
        .bias = memory_.bias,
        .active = memory_.active,
        .range = {},
        .columns = shape_.columns,
        .steps = tiles_up(shape_.depth, kernel_->step_depth),
        .tile_rows = tile_rows,
        .tile_columns = tile_columns,
        .group_rows = std::min(std::max(square, 1U), tile_rows),
        .activation = shape_.activation,
        .residual = memory_.residual != nullptr,
        .chained = true,
    };
    const FloatProductArguments floats{.residual = memory_.residual,
                                       .out = memory_.out,
                                       .stride = memory_.stride,
                                       .bests = memory_.bests,
                                       .best_tiles = tile_columns,
                                       .rounds_to_tf32 = shape_.rounds_to_tf32,
                                       .in_half_parts = shape_.in_half_parts};
    launch(kernel_->function, "decoder's product",
           {.blocks = clusters * tile.cluster_rows,
            .threads = kernel_->threads,
            .shared_bytes = kernel_->shared_bytes,
            .chained = true},
           stream, a_map_, b_map_, arguments, floats);
}

}  // namespace sluice::decoder
