#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_128x192() {
    return make_kernel<Config<2, 1, 192, 4, 3>>();
}

}  // namespace sluice::gemm
