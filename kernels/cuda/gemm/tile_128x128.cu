#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_128x128() {
    return make_kernel<Config<2, 1, 128, 6, 2>>();
}

}  // namespace sluice::gemm
