#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/tiles.hpp"

namespace sluice::gemm {

GemmKernel gated_128x192_in_pairs() {
    return make_kernel<Config<2, 2, 192, 4, 3, 2, 1, true>, Results::gated>();
}

}  // namespace sluice::gemm
