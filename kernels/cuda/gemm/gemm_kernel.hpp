#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/tile.hpp"
#include "kernels/cuda/precision.hpp"

namespace sluice::gemm {

struct Arguments;

/// The code for one tile, and what its launch takes.
template <class Operands, class Target>
struct ProductKernel {
    void (*function)(Arguments, Operands, Target);
    GemmTile tile;
    std::uint32_t threads;
    std::uint32_t shared_bytes;
    /// By mma.sync: blocks that a multiprocessor gives shared memory for, so that the others' is first-level cache; 0:
    /// all it can.
    std::uint32_t blocks_of_shared = 0;
};

/// What a kernel by wgmma multiplies: copies of a tile's rows of both matrices, a step of depth at a time.
struct StepOperands {
    CUtensorMap a;
    CUtensorMap b;
};

/// Where Gemm's kernel by wgmma puts its results, and what it adds to them: copies of boxes.
struct BoxTarget {
    CUtensorMap out;
    CUtensorMap residual;  // as `out` for none
};

/// Those of one tile.
struct GemmKernel {
    using Kernel = ProductKernel<StepOperands, BoxTarget>;

    Kernel bf16;
    Kernel fp16;

    [[nodiscard]] const Kernel& of(Precision precision) const { return precision == Precision::bf16 ? bf16 : fp16; }
};

/// For each of gemm_tiles.
[[nodiscard]] const GemmKernel& gemm_kernel(std::size_t tile);

}  // namespace sluice::gemm
