#include "kernels/cuda/decoder/product/mma_kernels.cuh"

namespace sluice::decoder {

const FloatMmaKernels& tf32_float_mma() {
    static const FloatMmaKernels kernels = make_float_mma_kernels<Precision::tf32>();
    return kernels;
}

}  // namespace sluice::decoder
