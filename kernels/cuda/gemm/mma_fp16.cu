#include "kernels/cuda/gemm/mma_narrow.cuh"

namespace sluice::gemm {

const MmaNarrowKernels& fp16_mma_kernels() {
    static const MmaNarrowKernels kernels = make_narrow_kernels<Precision::fp16>();
    return kernels;
}

}  // namespace sluice::gemm
