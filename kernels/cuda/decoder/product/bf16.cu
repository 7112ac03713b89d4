#include "kernels/cuda/decoder/product/ping_pong.cuh"

namespace sluice::decoder {

const FloatProductKernels& bf16_float_product() {
    static const FloatProductKernels kernels = make_float_products<__nv_bfloat16>();
    return kernels;
}

}  // namespace sluice::decoder
