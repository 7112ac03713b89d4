#include "kernels/kernels.hpp"

#include "core/error.hpp"
#include "kernels/cuda_kernels.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {

const Kernels& kernels_of(DeviceKind kind) {
    expects(kind != DeviceKind::automatic, "kernels_of: a device that is not chosen yet");
    return kind == DeviceKind::host ? host_kernels() : cuda_kernels();
}

}  // namespace sluice
