#include <array>

#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice {

const GemmKernel& gemm_kernel(std::size_t tile) {
    static const std::array<GemmKernel, gemm_tiles.size()> kernels{gemm::tile_256x192_in_pairs(),
                                                                   gemm::tile_128x256_in_pairs(),
                                                                   gemm::tile_128x256(),
                                                                   gemm::tile_128x192(),
                                                                   gemm::tile_128x128(),
                                                                   gemm::tile_64x128(),
                                                                   gemm::tile_64x64(),
                                                                   gemm::ping_pong_128x192_in_pairs(),
                                                                   gemm::ping_pong_128x128()};
    expects(tile < kernels.size() && kernels[tile].tile == gemm_tiles[tile], "product: no such tile");
    return kernels[tile];
}

}  // namespace sluice
