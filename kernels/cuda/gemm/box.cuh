#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

/// A box in shared memory, of two-byte values in the copy engine's swizzle. Of it lane l of a warp has word (j, i), two
/// values from column 8 j + 2 (l % 4) on in row l / 4 + 8 i: where products leave sums.
namespace sluice::gemm {

/// Address of this lane's row in two pairs of 8 x 8 matrices: columns 8 j to 8 j + 15.
[[nodiscard]] __device__ __forceinline__ std::uint32_t matrices_at(std::uint32_t box, std::uint32_t j) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t piece = (j + lane / 16) ^ lane % 8;
    return box + lane % 16 * step_bytes + piece * 16;
}

/// Stores word(j, i) to the box. All lanes call.
template <class Word>
__device__ __forceinline__ void fill_box(std::uint32_t box, const Word& word) {
#pragma unroll
    for (std::uint32_t j = 0; j < box_columns / 8; j += 2) {
        ptx::store_matrices(matrices_at(box, j), word(j, 0), word(j, 1), word(j + 1, 0), word(j + 1, 1));
    }
}

}  // namespace sluice::gemm
