#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/tile.hpp"
#include "kernels/cuda/precision.hpp"

namespace sluice {

namespace gemm {
struct Arguments;
}

/// The code for one tile, and what its launch takes.
struct GemmKernel {
    using Function = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, gemm::Arguments);

    Function bf16;
    Function fp16;
    GemmTile tile;
    std::uint32_t threads;
    std::uint32_t shared_bytes;

    [[nodiscard]] Function of(Precision precision) const { return precision == Precision::bf16 ? bf16 : fp16; }
};

/// For each of gemm_tiles.
[[nodiscard]] const GemmKernel& gemm_kernel(std::size_t tile);

}  // namespace sluice
