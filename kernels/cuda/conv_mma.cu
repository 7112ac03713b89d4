#include "kernels/cuda/conv_mma.hpp"

#include <limits>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/conv_mma_kernel.cuh"
#include "kernels/cuda/launch.hpp"

namespace sluice {
namespace {

using namespace conv_mma;

using Kernel = void (*)(Arguments);

template <Precision precision>
Kernel choose(bool relu, bool pooled) {
    if (relu) {
        return pooled ? &convolve<precision, true, true> : &convolve<precision, true, false>;
    }
    return pooled ? &convolve<precision, false, true> : &convolve<precision, false, false>;
}

Kernel choose(const ConvGemmShape& shape, Precision precision) {
    const bool pooled = shape.pool != 1;
    return precision == Precision::bf16   ? choose<Precision::bf16>(shape.relu, pooled)
           : precision == Precision::fp16 ? choose<Precision::fp16>(shape.relu, pooled)
           : precision == Precision::tf32 ? choose<Precision::tf32>(shape.relu, pooled)
                                          : choose<Precision::tf32x3>(shape.relu, pooled);
}

}  // namespace

ConvMma::ConvMma(const ConvGemmShape& shape, Precision precision, std::uint32_t max_items, const ConvGemmMemory& memory)
    : shape_(shape), precision_(precision), max_items_(max_items), memory_(memory) {
    const std::size_t part_bytes = shape.channels * number_bytes(precision);
    expects(precision != Precision::fp32, "convolution: the tensor cores have no fp32");
    expects(shape.taps >= 1 && shape.taps <= shape.length && part_bytes % row_bytes == 0 && part_bytes > 0 &&
                shape.outputs % tile_columns == 0 && shape.outputs > 0 && shape.taps <= most_shared_bytes / row_bytes &&
                shared_bytes(shape.taps, shape.pool != 1) <= most_shared_bytes,
            "convolution: its sizes do not fit the tensor cores' kernel");
    expects(shape.pool == 1 ||
                (shape.pool == pooled_rows && shape.length % pooled_rows == 0 && shape.positions() % pooled_rows == 0),
            "convolution: pooling other than by 3");
    expects(std::uint64_t{max_items} * shape.length * (shape.outputs / tile_columns) <=
                static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()),
            "convolution: more rows than a launch has");
    const auto set = [kernel = choose(shape, precision)](cudaFuncAttribute attribute, int value) {
        check_cuda(cudaFuncSetAttribute(kernel, attribute, value), "cudaFuncSetAttribute");
    };
    set(cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared_bytes);  // of any shape: kernels are shared
    set(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

void ConvMma::enqueue(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= max_items_, "convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const bool pooled = shape_.pool != 1;
    const auto channel_bytes = static_cast<std::uint32_t>(shape_.channels * element_bytes(precision_));
    const std::uint32_t rows = items * shape_.length;
    const Arguments arguments{
        .in = static_cast<const std::uint8_t*>(memory_.in),
        .weights = static_cast<const std::uint8_t*>(memory_.weights),
        .bias = memory_.bias,
        .out = memory_.out,
        .rows = {.items = items, .of_item = shape_.length / shape_.pool, .kept = shape_.positions() / shape_.pool},
        .input_rows = rows,
        .channel_bytes = channel_bytes,
        .part_pieces = channel_bytes / parts_of(precision_) / row_bytes,
        .outputs = shape_.outputs,
        .taps = shape_.taps,
        .input_stages = input_stages(shape_.taps),
        .copied_rows = copied_rows(shape_.taps, pooled),
    };
    const std::uint32_t row_tiles = (rows + tile_rows(pooled) - 1) / tile_rows(pooled);
    launch(choose(shape_, precision_), "convolution",
           {.blocks = row_tiles * (shape_.outputs / tile_columns),
            .threads = threads,
            .shared_bytes = shared_bytes(shape_.taps, pooled)},
           stream, arguments);
}

}  // namespace sluice
