#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel tile_128x256_in_pairs() {
    return make_kernel<Config<2, 1, 256, 4, 2, 2, 1>>();
}

GemmKernel tile_128x256() {
    return make_kernel<Config<2, 1, 256, 3, 4>>();
}

}  // namespace sluice::gemm
