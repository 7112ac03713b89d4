#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_64x64() {
    return make_kernel<Config<1, 1, 64, 12, 1>>();
}

}  // namespace sluice::gemm
