#include "kernels/cuda/gemm/gemm.hpp"

#include <algorithm>
#include <cmath>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t alignment = 16;  // of the copy engine

bool aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

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

/// Rows of cluster tiles in a group, so that what `clusters` clusters work on is about square, in groups about alike.
std::uint32_t group_rows(const GemmTile& tile, std::uint32_t tile_rows, std::uint32_t clusters) {
    const double height = tile.rows * tile.cluster_rows;
    const double width = tile.columns * tile.cluster_columns;
    const auto square = static_cast<std::uint32_t>(std::lround(std::sqrt(clusters * width / height)));
    const std::uint32_t groups = divide_up(tile_rows, std::max(square, 1U));
    return divide_up(tile_rows, groups);
}

/// Clusters of the kernel that the device runs at a time.
std::uint32_t count_clusters(const GemmKernel& kernel, Precision precision) {
    const std::uint32_t cluster = kernel.tile.cluster_rows * kernel.tile.cluster_columns;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(cluster);
    config.blockDim = dim3(kernel.threads);
    config.dynamicSmemBytes = kernel.shared_bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    check_cuda(cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel.of(precision)), &config),
               "cudaOccupancyMaxActiveClusters");
    expects(clusters > 0, "product: the device runs no block of its kernel");
    return static_cast<std::uint32_t>(clusters);
}

}  // namespace

Gemm::Gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory, const GemmOptions& options)
    : shape_(shape), memory_(memory), chained_(options.chained), range_(options.range) {
    constexpr std::uint32_t most = 1U << 30;  // the copy engine's coordinates have a sign
    expects(precision == Precision::bf16 || precision == Precision::fp16, "product: of bf16 or fp16 only");
    expects(shape.columns > 0 && shape.columns % 8 == 0 && shape.depth > 0 && shape.depth % 8 == 0,
            "product: columns and depth are multiples of 8");
    expects(shape.rows <= most && shape.columns <= most && shape.depth <= most, "product: too large");
    expects(aligned(memory.a) && aligned(memory.b) && aligned(memory.bias) && aligned(memory.residual) &&
                aligned(memory.out),
            "product: its memory is aligned to 16 bytes");
    const std::uint32_t multiprocessors =
        options.multiprocessors == 0 ? attribute(cudaDevAttrMultiProcessorCount) : options.multiprocessors;
    const std::size_t number =
        options.tile.value_or(choose_gemm_tile(shape.rows, shape.columns, shape.depth, multiprocessors));
    kernel_ = &gemm_kernel(number);
    tile_ = kernel_->tile;
    function_ = kernel_->of(precision);
    if (shape.rows == 0) {
        return;
    }
    a_map_ = map_of(precision, memory.a, shape.rows, shape.depth, tile_.rows / tile_.cluster_columns);
    b_map_ = map_of(precision, memory.b, shape.columns, shape.depth, tile_.columns / tile_.cluster_rows);
    out_map_ = map_of(precision, memory.out, shape.rows, shape.columns, gemm::box_rows);
    residual_map_ = memory.residual == nullptr
                        ? out_map_
                        : map_of(precision, memory.residual, shape.rows, shape.columns, gemm::box_rows);
    check_cuda(cudaFuncSetAttribute(function_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kernel_->shared_bytes)),
               "cudaFuncSetAttribute");
    clusters_ = std::min(count_clusters(*kernel_, precision),
                         std::max(multiprocessors / (tile_.cluster_rows * tile_.cluster_columns), 1U));
}

void Gemm::enqueue(cudaStream_t stream) const {
    if (shape_.rows == 0) {
        return;
    }
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
        .group_rows = group_rows(tile_, tile_rows, clusters),
        .activation = shape_.activation,
        .residual = memory_.residual != nullptr,
        .chained = chained_,
    };
    launch(function_, "product",
           {.blocks = clusters * cluster,
            .threads = kernel_->threads,
            .shared_bytes = kernel_->shared_bytes,
            .chained = chained_},
           stream, a_map_, b_map_, out_map_, residual_map_, arguments);
}

}  // namespace sluice
