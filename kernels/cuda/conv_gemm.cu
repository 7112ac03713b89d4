#include "kernels/cuda/conv_gemm.hpp"

#include <algorithm>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/conv_gemm_kernel.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice {
namespace {

using namespace conv_gemm;

using Kernel = void (*)(CUtensorMap, CUtensorMap, Arguments);

template <class Type>
Kernel choose(bool relu, bool pooled) {
    if (relu) {
        return pooled ? &convolve<Type, true, true> : &convolve<Type, true, false>;
    }
    return pooled ? &convolve<Type, false, true> : &convolve<Type, false, false>;
}

Kernel choose(const ConvGemmShape& shape, Precision precision) {
    const bool pooled = shape.pool != 1;
    return precision == Precision::bf16   ? choose<__nv_bfloat16>(shape.relu, pooled)
           : precision == Precision::fp16 ? choose<__half>(shape.relu, pooled)
           : precision == Precision::tf32 ? choose<wgmma::Tf32>(shape.relu, pooled)
                                          : choose<values::Tf32x3>(shape.relu, pooled);
}

constexpr std::uint32_t pooled_rows = products;  // a thread has one row of each product

std::uint32_t phase_rows(const ConvGemmShape& shape) {
    return product_rows + (pooled_rows - 1 + shape.taps - 1) / pooled_rows;
}

std::uint32_t copied_rows(const ConvGemmShape& shape) {
    return shape.pool == 1 ? tile_rows + shape.taps - 1 : products * phase_rows(shape);
}

}  // namespace

ConvGemm::ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t max_items,
                   const ConvGemmMemory& memory, const ConvGemmOptions& options)
    : shape_(shape), precision_(precision), max_items_(max_items), memory_(memory), options_(options) {
    const std::uint32_t row_elements = row_bytes / static_cast<std::uint32_t>(number_bytes(precision));
    const std::uint32_t row_numbers = shape.channels * parts_of(precision);
    const bool pooled = shape.pool != 1;
    expects(precision != Precision::fp32, "convolution: the tensor cores have no fp32");
    expects(shape.taps >= 1 && shape.taps <= shape.length && shape.channels % row_elements == 0 && shape.channels > 0 &&
                shape.outputs % tile_columns == 0 && shape.outputs > 0 && shape.outputs <= most_outputs &&
                copied_rows(shape) <= input_rows,
            "convolution: its sizes do not fit the tensor cores' kernel");
    expects(
        !pooled || (shape.pool == pooled_rows && shape.length % shape.pool == 0 && shape.positions() % shape.pool == 0),
        "convolution: pooling other than by 3");
    const std::uint64_t rows = std::uint64_t{max_items} * shape.length;
    const std::uint64_t row_stride = row_numbers * number_bytes(precision);
    if (pooled) {
        const TensorAxis axes[] = {{row_numbers, 0, row_elements},
                                   {rows / pooled_rows, row_stride * pooled_rows, phase_rows(shape)},
                                   {pooled_rows, row_stride, pooled_rows}};
        in_map_ = make_tensor_map(precision, memory.in, axes);
    } else {
        const TensorAxis axes[] = {{row_numbers, 0, row_elements}, {rows, row_stride, copied_rows(shape)}};
        in_map_ = make_tensor_map(precision, memory.in, axes);
    }
    const TensorAxis axes[] = {{std::uint64_t{shape.taps} * row_numbers, 0, row_elements},
                               {shape.outputs, row_stride * shape.taps, warpgroup_columns}};
    weight_map_ = make_tensor_map(precision, memory.weights, axes);
    int device = 0;
    int processors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    processors_ = static_cast<std::uint32_t>(processors);
    check_cuda(
        cudaFuncSetAttribute(choose(shape, precision), cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
}

void ConvGemm::enqueue(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= max_items_, "convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const bool pooled = shape_.pool != 1;
    const std::uint32_t group = shape_.pool;
    const std::uint32_t rows = items * (shape_.length / group);
    const std::uint32_t tile = pooled ? product_rows : tile_rows;
    const std::uint32_t row_tiles = (rows + tile - 1) / tile;
    const auto part_pieces = static_cast<std::uint32_t>(shape_.channels * number_bytes(precision_) / row_bytes);
    const std::uint32_t tiles = row_tiles * (shape_.outputs / tile_columns);
    const std::uint32_t blocks = std::min(tiles, processors_);
    constexpr std::size_t most_prefetched = 65536;
    const std::size_t share =
        std::size_t{shape_.outputs} * shape_.taps * shape_.channels * element_bytes(precision_) / blocks;
    const auto prefetch_bytes = static_cast<std::uint32_t>(std::min(share, most_prefetched) / 16 * 16);
    const Arguments arguments{
        .out = memory_.out,
        .weights = static_cast<const std::uint8_t*>(memory_.weights),
        .prefetch_bytes = prefetch_bytes,
        .bias = memory_.bias,
        .rows = {.items = items, .of_item = shape_.length / group, .kept = shape_.positions() / group},
        .outputs = shape_.outputs,
        .taps = shape_.taps,
        .part_pieces = part_pieces,
        .phase_rows = phase_rows(shape_),
        .copied_rows = copied_rows(shape_),
        .row_tiles = row_tiles,
        .tiles = tiles,
        // A step's weights are free once the next one runs, and the first warpgroup has no more than these inputs.
        .lead_steps = std::min(options_.lead_steps, input_stages * shape_.taps - 1),
        .chained = options_.chained,
    };
    launch(choose(shape_, precision_), "convolution",
           {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes, .chained = options_.chained}, stream,
           in_map_, weight_map_, arguments);
}

}  // namespace sluice
