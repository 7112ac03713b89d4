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

std::optional<double> GpuMeter::clock_mhz() const {
    return gpu_ == nullptr ? std::nullopt : nvml_.read(gpu_).clock_mhz;
}

std::optional<double> GpuMeter::energy_joules() const {
    return gpu_ == nullptr ? std::nullopt : nvml_.read(gpu_).joules;
}

}  // namespace sluice::ladder
