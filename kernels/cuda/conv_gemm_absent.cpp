#include "core/error.hpp"
#include "kernels/cuda/conv_gemm.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse() {
    throw ContractViolation("convolution: wgmma in a build without code for sm_90a");
}

}  // namespace

ConvGemm::ConvGemm(const ConvGemmShape&, Precision, std::uint32_t, const ConvGemmMemory&, const ConvGemmOptions&) {
    refuse();
}

void ConvGemm::enqueue(std::uint32_t, cudaStream_t) const {
    refuse();
}

}  // namespace sluice
