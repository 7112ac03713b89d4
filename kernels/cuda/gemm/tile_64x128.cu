#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_64x128() {
    return make_kernel<Config<1, 1, 128, 8, 2>>();
}

}  // namespace sluice::gemm
