#include "kernels/cuda/decoder/product/ping_pong.cuh"

namespace sluice::decoder {

const FloatProductKernels& fp16_float_product() {
    static const FloatProductKernels kernels = make_float_products<__half>();
    return kernels;
}

}  // namespace sluice::decoder
