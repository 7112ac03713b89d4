#include "kernels/cuda/decoder/product/half_parts.cuh"

namespace sluice::decoder {

const FloatProductKernels& half_part_float_product() {
    static const FloatProductKernels kernels = make_half_part_products();
    return kernels;
}

}  // namespace sluice::decoder
