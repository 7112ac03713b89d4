#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernel& fp16_float_product() {
    static const FloatProductKernel kernel = float_product_of_halves<__half>();
    return kernel;
}

}  // namespace sluice::decoder
