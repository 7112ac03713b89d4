#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernel& tf32_float_product() {
    static const FloatProductKernel kernel = make_float_product<wgmma::Tf32>();
    return kernel;
}

}  // namespace sluice::decoder
