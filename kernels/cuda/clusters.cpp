#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/launch.hpp"

#include <cuda_runtime_api.h>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {

std::uint32_t count_clusters(const void* kernel, const ClusterShape& shape) {
    allow_shared_bytes(kernel, shape.shared_bytes);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    check_cuda(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "cudaOccupancyMaxActiveClusters");
    expects(clusters > 0, "the device runs no block of a kernel in clusters");
    return static_cast<std::uint32_t>(clusters);
}

}  // namespace sluice
