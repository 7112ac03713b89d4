#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_256x192_in_pairs() {
    return make_kernel<Config<2, 2, 192, 3, 3, 1, 2>>();
}

}  // namespace sluice::gemm
