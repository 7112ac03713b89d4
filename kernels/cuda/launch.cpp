#include "kernels/cuda/launch.hpp"

namespace sluice {

bool waits_in_chains(const void* kernel) {
    constexpr int since = 90;
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= since;
}

}  // namespace sluice
