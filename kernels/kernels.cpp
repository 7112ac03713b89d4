#include "kernels/kernels.hpp"

#include "core/error.hpp"
#include "core/host_device.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {

const Kernels& kernels_of(const Device& device) {
    expects(dynamic_cast<const HostDevice*>(&device) != nullptr, "kernels_of: no backend for this device");
    return host_kernels();
}

}  // namespace sluice
