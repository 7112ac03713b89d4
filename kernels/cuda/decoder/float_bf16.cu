#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernel& bf16_float_product() {
    static const FloatProductKernel kernel = make_float_product<__nv_bfloat16>();
    return kernel;
}

}  // namespace sluice::decoder
