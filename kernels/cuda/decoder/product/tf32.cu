#include "kernels/cuda/decoder/product/ping_pong.cuh"

namespace sluice::decoder {

const FloatProductKernels& tf32_float_product() {
    static const FloatProductKernels kernels = make_float_products<wgmma::Tf32>();
    return kernels;
}

}  // namespace sluice::decoder
