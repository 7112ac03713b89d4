#include <array>

#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

const GemmKernel& gemm_kernel(std::size_t tile) {
    static const std::array<GemmKernel, gemm_tiles.size()> kernels{
        tile_256x192_in_pairs(), tile_128x256_in_pairs(), tile_128x256(), tile_128x192(),
        tile_128x128(),          tile_64x128(),           tile_64x64(),   ping_pong_128x192_in_pairs(),
        ping_pong_128x128()};
    expects(tile < kernels.size() && kernels[tile].bf16.tile == gemm_tiles[tile], "product: no such tile");
    return kernels[tile];
}

const GemmKernel& gated_gemm_kernel() {
    static const GemmKernel kernel = gated_128x192_in_pairs();
    expects(kernel.bf16.tile == gemm_tiles[gated_gemm_tile], "product: gates in another tile");
    return kernel;
}

}  // namespace sluice::gemm
