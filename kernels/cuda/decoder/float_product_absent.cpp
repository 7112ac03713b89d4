#include "core/error.hpp"
#include "kernels/cuda/decoder/float_product.hpp"

namespace sluice::decoder {
namespace {

[[noreturn]] void refuse_float_product() {
    throw ContractViolation("decoder: wgmma in a build without code for sm_90a");
}

}  // namespace

void FloatProduct::use_wgmma(Precision) {
    refuse_float_product();
}

void FloatProduct::enqueue_wgmma(cudaStream_t) const {
    refuse_float_product();
}

}  // namespace sluice::decoder
