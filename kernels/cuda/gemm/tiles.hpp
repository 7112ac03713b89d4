#pragma once

#include "kernels/cuda/gemm/gemm_kernel.hpp"

/// The kernel of each of gemm_tiles; one source file each.
namespace sluice::gemm {

[[nodiscard]] GemmKernel tile_256x192_in_pairs();
[[nodiscard]] GemmKernel tile_128x256_in_pairs();
[[nodiscard]] GemmKernel tile_128x256();
[[nodiscard]] GemmKernel tile_128x192();
[[nodiscard]] GemmKernel tile_128x128();
[[nodiscard]] GemmKernel tile_64x128();
[[nodiscard]] GemmKernel tile_64x64();
[[nodiscard]] GemmKernel ping_pong_128x192_in_pairs();
[[nodiscard]] GemmKernel ping_pong_128x128();

/// The kernel of products with gates.
[[nodiscard]] GemmKernel gated_128x192_in_pairs();

}  // namespace sluice::gemm
