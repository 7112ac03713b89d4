#include "kernels/cuda/decoder/float_ping_pong.cuh"

namespace sluice::decoder {

const FloatProductKernels& tf32_float_product() {
    static const FloatProductKernels kernels{.values = make_ping_pong_product<wgmma::Tf32>(),
                                             .bests = make_float_product<wgmma::Tf32, true>()};
    return kernels;
}

}  // namespace sluice::decoder
