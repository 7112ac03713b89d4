#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_product() {
    throw ContractViolation("product: wgmma in a build without code for sm_90a");
}

}  // namespace

void Gemm::use_wgmma(Precision, const GemmOptions&) {
    refuse_product();
}

void Gemm::enqueue_wgmma(cudaStream_t) const {
    refuse_product();
}

}  // namespace sluice
