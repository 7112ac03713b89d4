#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernels& bf16_float_product() {
    static const FloatProductKernels kernels{.values = make_float_product<__nv_bfloat16, false>(),
                                             .bests = make_float_product<__nv_bfloat16, true>()};
    return kernels;
}

}  // namespace sluice::decoder
