#pragma once

#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/gemm/tile.hpp"

/// Variants of the kernel by mma.sync: warps of 64 by 64, which read the least from shared memory.
namespace sluice::gemm {

using Mma128x256 = MmaConfig<2, 4, 4, 8, 4, 1>;
using Mma128x128 = MmaConfig<2, 2, 4, 8, 3, 2>;
using Mma64x64 = MmaConfig<2, 2, 2, 4, 3, 4>;

// For rows that begin anywhere: fewer sums per thread, as copies in flight take registers.
using Unaligned128x128 = MmaConfig<2, 4, 4, 4, 3, 2>;
using Unaligned64x64 = MmaConfig<2, 2, 2, 4, 3, 3>;

template <class C>
constexpr bool is_mma_tile(const GemmTile& tile) {
    return tile == GemmTile{.rows = C::rows, .columns = C::columns};
}

}  // namespace sluice::gemm
