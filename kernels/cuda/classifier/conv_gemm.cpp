#include "kernels/cuda/classifier/conv_gemm.hpp"

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/conv_work.hpp"

namespace sluice {

ConvGemm::ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t items, const ConvGemmMemory& memory,
                   const ConvGemmOptions& options) {
    constexpr std::uint32_t pooled_rows = 3;
    constexpr std::uint64_t most_rows = 1U << 30;  // the copy engine's coordinates are signed
    expects(precision != Precision::fp32, "convolution: the tensor cores have no fp32");
    expects(shape.taps >= 1 && shape.taps <= shape.length && shape.channels > 0 && shape.outputs > 0,
            "convolution: more taps than rows, or nothing to compute");
    expects(shape.pool == 1 ||
                (shape.pool == pooled_rows && shape.length % pooled_rows == 0 && shape.positions() % pooled_rows == 0),
            "convolution: pooling other than by 3");
    expects(std::uint64_t{items} * shape.length <= most_rows, "convolution: more rows than a launch has");
    const MatrixInstructions instructions = options.instructions.value_or(instructions_of_current_gpu());
    work_ = instructions == MatrixInstructions::wgmma ? conv::make_wgmma_conv(shape, precision, items, memory, options)
                                                      : conv::make_mma_conv(shape, precision, items, memory);
}

void ConvGemm::enqueue(cudaStream_t stream) const {
    if (work_) {
        work_->enqueue(stream);
    }
}

}  // namespace sluice
