#include "tools/bench/ladder/gpu_meter.hpp"

#include <cuda_runtime_api.h>

#include <array>

#include "core/device/cuda_error.hpp"

namespace sluice::ladder {
namespace {

/// PCI address of the current device.
std::string bus_address() {
    int number = 0;
    std::array<char, 32> bus{};
    check_cuda(cudaGetDevice(&number), "cudaGetDevice");
    check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), number), "cudaDeviceGetPCIBusId");
    return bus.data();
}

}  // namespace

GpuMeter::GpuMeter() : gpu_(nvml_.find(bus_address())) {}

GpuReading GpuMeter::read() const {
    return gpu_ == nullptr ? GpuReading() : nvml_.read(gpu_);
}

}  // namespace sluice::ladder
