#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/conv_mma_kernel.cuh"
#include "kernels/cuda/classifier/conv_work.hpp"
#include "kernels/cuda/launch.hpp"

namespace sluice::conv_mma {
namespace {

using Kernel = void (*)(Arguments);

template <Precision precision>
Kernel kernel_of(bool relu, bool pooled) {
    if (relu) {
        return pooled ? &convolve<precision, true, Config<true>> : &convolve<precision, true, Config<false>>;
    }
    return pooled ? &convolve<precision, false, Config<true>> : &convolve<precision, false, Config<false>>;
}

Kernel kernel_of(Precision precision, bool relu, bool pooled) {
    return precision == Precision::bf16   ? kernel_of<Precision::bf16>(relu, pooled)
           : precision == Precision::fp16 ? kernel_of<Precision::fp16>(relu, pooled)
           : precision == Precision::tf32 ? kernel_of<Precision::tf32>(relu, pooled)
                                          : kernel_of<Precision::tf32x3>(relu, pooled);
}

/// A convolution that is ready to be enqueued: a block for each tile.
class Convolution final : public gemm::Work {
public:
    Convolution(Kernel kernel, const LaunchShape& shape, const Arguments& arguments)
        : kernel_(kernel), shape_(shape), arguments_(arguments) {
        const auto set = [&](cudaFuncAttribute attribute, int value) {
            check_cuda(cudaFuncSetAttribute(kernel, attribute, value), "cudaFuncSetAttribute");
        };
        set(cudaFuncAttributeMaxDynamicSharedMemorySize, least_shared_bytes);  // for any shape: kernels are shared
        set(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    }

    void enqueue(cudaStream_t stream) const override { launch(kernel_, "convolution", shape_, stream, arguments_); }

private:
    Kernel kernel_;
    LaunchShape shape_;
    Arguments arguments_;
};

template <class C>
std::shared_ptr<const gemm::Work> make_convolution(const ConvGemmShape& shape, Precision precision, std::uint32_t items,
                                                   const ConvGemmMemory& memory) {
    expects(shape.taps <= least_shared_bytes / row_bytes && shared_bytes<C>(shape.taps) <= least_shared_bytes,
            "convolution: more taps than the tensor cores' kernel takes");
    if (items == 0) {
        return nullptr;
    }
    const auto channel_bytes = static_cast<std::uint32_t>(shape.channels * element_bytes(precision));
    const std::uint32_t rows = items * shape.length;
    const Arguments arguments{
        .in = static_cast<const std::uint8_t*>(memory.in),
        .weights = static_cast<const std::uint8_t*>(memory.weights),
        .bias = memory.bias,
        .target = conv::target_of(shape, items, memory),
        .input_rows = rows,
        .channel_bytes = channel_bytes,
        .part_pieces = channel_bytes / parts_of(precision) / row_bytes,
        .taps = shape.taps,
        .input_stages = input_stages(shape.taps),
        .copied_rows = copied_rows<C>(shape.taps),
    };
    const std::uint64_t tiles = (std::uint64_t{rows} + C::rows - 1) / C::rows * (shape.outputs / tile_columns);
    expects(tiles <= 0x7FFFFFFF, "convolution: more tiles than a launch has");
    return std::make_shared<Convolution>(kernel_of(precision, shape.relu, C::pooled),
                                         LaunchShape{.blocks = static_cast<std::uint32_t>(tiles),
                                                     .threads = threads,
                                                     .shared_bytes = shared_bytes<C>(shape.taps)},
                                         arguments);
}

}  // namespace
}  // namespace sluice::conv_mma

namespace sluice::conv {

std::shared_ptr<const gemm::Work> make_mma_conv(const ConvGemmShape& shape, Precision precision, std::uint32_t items,
                                                const ConvGemmMemory& memory) {
    expects(shape.channels * number_bytes(precision) % row_bytes == 0 && shape.outputs % conv_mma::tile_columns == 0,
            "convolution: its sizes do not fit the tensor cores' kernel");
    return shape.pool == 1 ? conv_mma::make_convolution<conv_mma::Config<false>>(shape, precision, items, memory)
                           : conv_mma::make_convolution<conv_mma::Config<true>>(shape, precision, items, memory);
}

}  // namespace sluice::conv
