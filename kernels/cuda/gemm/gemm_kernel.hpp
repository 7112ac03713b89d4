#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/tile.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::gemm {

struct Arguments;

/// What a kernel's results become.
enum class Results : std::uint8_t {
    values,
    gated,          ///< GemmShape::gated
    codes_by_tanh,  ///< e4m3 of gelu_tanh, times a scale
    codes_by_erf,   ///< of gelu_erf
};

/// The kernel of one tile and its launch parameters.
template <class Operands, class Target>
struct ProductKernel {
    void (*function)(Arguments, Operands, Target);
    GemmTile tile;
    std::uint32_t threads;
    std::uint32_t shared_bytes;
    /// mma.sync only: blocks per multiprocessor that shared memory is reserved for, so that the rest is L1 cache; 0: as
    /// much as possible.
    std::uint32_t blocks_of_shared = 0;
};

/// Operands of a kernel by wgmma: copies of a tile's rows of both matrices, a step of depth at a time.
struct StepOperands {
    CUtensorMap a;
    CUtensorMap b;
};

/// Results of Gemm's kernel by wgmma and the residual: copies of boxes.
struct BoxTarget {
    CUtensorMap out;
    CUtensorMap residual;               // `out` if there is none
    void* rows = nullptr;               // for results that are stored straight
    const float* code_scale = nullptr;  // of results that are codes
};

/// The kernels of one tile.
struct GemmKernel {
    using Kernel = ProductKernel<StepOperands, BoxTarget>;

    Kernel bf16;
    Kernel fp16;

    [[nodiscard]] const Kernel& of(Precision precision) const { return precision == Precision::bf16 ? bf16 : fp16; }
};

/// `tile`: index in gemm_tiles.
[[nodiscard]] const GemmKernel& gemm_kernel(std::size_t tile);

/// Of gated_gemm_tile.
[[nodiscard]] const GemmKernel& gated_gemm_kernel();

}  // namespace sluice::gemm
