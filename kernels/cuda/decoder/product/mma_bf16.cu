#include "kernels/cuda/decoder/product/mma_kernels.cuh"

namespace sluice::decoder {

const FloatMmaKernels& bf16_float_mma() {
    static const FloatMmaKernels kernels = make_float_mma_kernels<Precision::bf16>();
    return kernels;
}

}  // namespace sluice::decoder
