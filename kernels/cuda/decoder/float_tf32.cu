#include "kernels/cuda/decoder/float_turns.cuh"

namespace sluice::decoder {

const FloatProductKernels& tf32_float_product() {
    static const FloatProductKernels kernels{.values = make_product_in_turns<wgmma::Tf32>(),
                                             .bests = make_float_product<wgmma::Tf32, true>()};
    return kernels;
}

}  // namespace sluice::decoder
