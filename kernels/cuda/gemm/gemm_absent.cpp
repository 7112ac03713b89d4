#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_product() {
    throw ContractViolation("product: wgmma in a build without code for sm_90a");
}

}  // namespace

Gemm::Gemm(const GemmShape&, Precision, const GemmMemory&, const GemmOptions&) {
    refuse_product();
}

void Gemm::enqueue(cudaStream_t) const {
    refuse_product();
}

}  // namespace sluice
