#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice::gemm {

/// Index in mma_tiles, or in unaligned_tiles, of the tile that Gemm uses.
[[nodiscard]] std::size_t mma_tile_number(const GemmShape& shape, const GemmOptions& options, bool unaligned);

/// Gemm by mma.sync, which every GPU from compute capability 8.0 on has. The shape is valid for Gemm, with rows above
/// 0. Warps load operands by ldmatrix from stages that cp.async fills, one product ahead of mma.sync; except with the
/// largest tile, several blocks share a multiprocessor, so that one multiplies while the other stores. `unaligned`
/// operands go through registers instead of cp.async, a step ahead.
[[nodiscard]] std::shared_ptr<const Work> make_mma_gemm(const GemmShape& shape, Precision precision,
                                                        const GemmMemory& memory, const GemmOptions& options,
                                                        std::size_t tile, bool unaligned);

}  // namespace sluice::gemm
