#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel ping_pong_128x128() {
    return make_kernel<Config<2, 2, 128, 5, 4, 1, 1, true>>();
}

}  // namespace sluice::gemm
