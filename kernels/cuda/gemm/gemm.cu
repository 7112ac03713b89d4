#include "kernels/cuda/gemm/gemm.hpp"

#include <algorithm>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice {
namespace {

std::uint32_t attribute(cudaDeviceAttr which) {
    int device = 0;
    int value = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return static_cast<std::uint32_t>(value);
}

/// Of a matrix of `rows` contiguous rows, for copies of `box_rows` times 128 bytes.
CUtensorMap map_of(Precision precision, const void* matrix, std::uint32_t rows, std::uint32_t columns,
                   std::uint32_t box_rows) {
    const TensorAxis axes[] = {{columns, 0, gemm::step_depth}, {rows, columns * number_bytes(precision), box_rows}};
    return make_tensor_map(precision, matrix, axes);
}

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

}  // namespace

void Gemm::use_wgmma(Precision precision, const GemmOptions& options) {
    const std::uint32_t multiprocessors =
        options.multiprocessors == 0 ? attribute(cudaDevAttrMultiProcessorCount) : options.multiprocessors;
    tile_number_ = options.tile.value_or(choose_gemm_tile(shape_.rows, shape_.columns, shape_.depth, multiprocessors));
    kernel_ = &gemm_kernel(tile_number_);
    tile_ = kernel_->tile;
    function_ = kernel_->of(precision);
    if (shape_.rows == 0) {
        return;
    }
    a_map_ = map_of(precision, memory_.a, shape_.rows, shape_.depth, tile_.rows / tile_.cluster_columns);
    b_map_ = map_of(precision, memory_.b, shape_.columns, shape_.depth, tile_.columns / tile_.cluster_rows);
    out_map_ = map_of(precision, memory_.out, shape_.rows, shape_.columns, gemm::box_rows);
    residual_map_ = memory_.residual == nullptr
                        ? out_map_
                        : map_of(precision, memory_.residual, shape_.rows, shape_.columns, gemm::box_rows);
    const std::uint32_t cluster = tile_.cluster_rows * tile_.cluster_columns;
    clusters_ = std::min(
        count_clusters(reinterpret_cast<const void*>(function_),
                       {.blocks = cluster, .threads = kernel_->threads, .shared_bytes = kernel_->shared_bytes}),
        std::max(multiprocessors / cluster, 1U));
}

void Gemm::enqueue_wgmma(cudaStream_t stream) const {
    const std::uint32_t cluster = tile_.cluster_rows * tile_.cluster_columns;
    const std::uint32_t tile_rows = divide_up(shape_.rows, tile_.rows * tile_.cluster_rows);
    const std::uint32_t tile_columns = divide_up(shape_.columns, tile_.columns * tile_.cluster_columns);
    const std::uint32_t clusters =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{tile_rows} * tile_columns, clusters_));
    const gemm::Arguments arguments{
        .bias = memory_.bias,
        .active = memory_.active,
        .range = range_,
        .columns = shape_.columns,
        .steps = divide_up(shape_.depth, gemm::step_depth),
        .tile_rows = tile_rows,
        .tile_columns = tile_columns,
        .group_rows = gemm_group_rows(tile_, tile_rows, clusters),
        .activation = shape_.activation,
        .residual = memory_.residual != nullptr,
        .chained = chained_,
        .row_scales = memory_.row_scales,
        .rows = shape_.rows,
    };
    launch(function_, "product",
           {.blocks = clusters * cluster,
            .threads = kernel_->threads,
            .shared_bytes = kernel_->shared_bytes,
            .chained = chained_},
           stream, a_map_, b_map_, out_map_, residual_map_, arguments);
}

}  // namespace sluice
