#include "core/error.hpp"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"

namespace sluice::gemm {

std::shared_ptr<const Work> make_wgmma_gemm(const GemmShape&, Precision, const GemmMemory&, const GemmOptions&,
                                            std::size_t) {
    throw ContractViolation("product: wgmma in a build without code for sm_90a");
}

}  // namespace sluice::gemm
