#include "core/error.hpp"
#include "kernels/cuda/gemm/fp8_gemm.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_fp8_product() {
    throw ContractViolation("product of e4m3: needs wgmma, in a build without code for sm_90a");
}

}  // namespace

Fp8Gemm::Fp8Gemm(const GemmShape&, Fp8Sums, const Fp8GemmMemory&, const GemmOptions&) {
    refuse_fp8_product();
}

void Fp8Gemm::enqueue(cudaStream_t) const {
    refuse_fp8_product();
}

std::string Fp8Gemm::path() const {
    refuse_fp8_product();
}

}  // namespace sluice
