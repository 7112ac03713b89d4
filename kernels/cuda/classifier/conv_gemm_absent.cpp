#include "core/error.hpp"
#include "kernels/cuda/classifier/conv_work.hpp"

namespace sluice::conv {

std::shared_ptr<const gemm::Work> make_wgmma_conv(const ConvGemmShape&, Precision, std::uint32_t, const ConvGemmMemory&,
                                                  const ConvGemmOptions&) {
    throw ContractViolation("convolution: wgmma in a build without code for sm_90a");
}

}  // namespace sluice::conv
