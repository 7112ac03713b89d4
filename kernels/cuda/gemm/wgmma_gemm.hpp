#pragma once

#include <cstddef>
#include <memory>

#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice::gemm {

/// Gemm by wgmma; `tile`: index in gemm_tiles. Throws ContractViolation in a build without code for sm_90a. Null for no
/// rows.
[[nodiscard]] std::shared_ptr<const Work> make_wgmma_gemm(const GemmShape& shape, Precision precision,
                                                          const GemmMemory& memory, const GemmOptions& options,
                                                          std::size_t tile);

/// The maps of a tile's steps, for a of `rows` and b of `columns` contiguous rows of `depth` values.
[[nodiscard]] StepOperands make_step_operands(Precision precision, const GemmTile& tile, const void* a,
                                              std::uint32_t rows, const void* b, std::uint32_t columns,
                                              std::uint32_t depth);

/// The maps of results and of the residual, if any, of two-byte values.
[[nodiscard]] BoxTarget make_box_target(Precision precision, void* out, const void* residual, std::uint32_t rows,
                                        std::uint32_t columns);

}  // namespace sluice::gemm
