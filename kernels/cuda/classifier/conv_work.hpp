#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice::conv {

/// ConvGemm by wgmma. Throws ContractViolation if wgmma does not support it, or in a build without code for sm_90a.
[[nodiscard]] std::shared_ptr<const gemm::Work> make_wgmma_conv(const ConvGemmShape& shape, Precision precision,
                                                                std::uint32_t items, const ConvGemmMemory& memory,
                                                                const ConvGemmOptions& options);

/// ConvGemm by mma.sync, which every GPU from compute capability 8.0 on has. Throws ContractViolation if mma.sync does
/// not support it.
[[nodiscard]] std::shared_ptr<const gemm::Work> make_mma_conv(const ConvGemmShape& shape, Precision precision,
                                                              std::uint32_t items, const ConvGemmMemory& memory);

}  // namespace sluice::conv
