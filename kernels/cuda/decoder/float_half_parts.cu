#include "kernels/cuda/decoder/float_half_parts.cuh"

namespace sluice::decoder {

const FloatProductKernels& half_part_float_product() {
    static const FloatProductKernels kernels{.values = make_half_part_product<false>(),
                                             .bests = make_half_part_product<true>()};
    return kernels;
}

}  // namespace sluice::decoder
