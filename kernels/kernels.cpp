#include "kernels/kernels.hpp"

#include "core/host_device.hpp"
#include "kernels/cuda_kernels.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {

const Kernels& kernels_of(const Device& device) {
    return dynamic_cast<const HostDevice*>(&device) != nullptr ? host_kernels() : cuda_kernels(device);
}

}  // namespace sluice
