#include "kernels/cuda/launch.hpp"

namespace sluice {

bool waits_in_chains(const void* kernel) {
    constexpr int since = 90;
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= since;
}

std::uint32_t count_multiprocessors() {
    int device = 0;
    int count = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return static_cast<std::uint32_t>(count);
}

void allow_shared_bytes(const void* kernel, std::size_t bytes) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "cudaFuncSetAttribute");
}

}  // namespace sluice
