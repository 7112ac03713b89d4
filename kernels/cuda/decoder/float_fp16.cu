#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernels& fp16_float_product() {
    static const FloatProductKernels kernels{.values = make_float_product<__half, false>(),
                                             .bests = make_float_product<__half, true>()};
    return kernels;
}

}  // namespace sluice::decoder
