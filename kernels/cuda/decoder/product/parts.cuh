#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

/// Common to the products of operands in two parts.
namespace sluice::decoder {

/// A tile for few rows: 64 by 64.
using TileOfFewRows = gemm::Config<1, 1, 64, 6, 1>;

/// Copies a block's share of a part of the rows of b that its cluster shares.
template <class C>
__device__ __forceinline__ void load_shared_rows(const gemm::Layout<C>& layout, std::uint32_t stage,
                                                 const CUtensorMap* b, int depth, int part, int column,
                                                 const gemm::Sharers<C>& sharers) {
    const std::uint32_t to = layout.b(stage) + sharers.row * C::b_slice * gemm::step_bytes;
    if constexpr (C::cluster_rows > 1) {
        ptx::load_3d_to_many(to, b, layout.full(stage), depth, part, column, sharers.of_b());
    } else {
        ptx::load_3d(to, b, layout.full(stage), depth, part, column);
    }
}

}  // namespace sluice::decoder
