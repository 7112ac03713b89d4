#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernel& fp16_float_product() {
    static const FloatProductKernel kernel = make_float_product<__half>();
    return kernel;
}

}  // namespace sluice::decoder
