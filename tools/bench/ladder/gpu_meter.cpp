#include "tools/bench/ladder/gpu_meter.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>

#include "core/device/cuda_error.hpp"

namespace sluice::ladder {
namespace {

constexpr int success = 0;
constexpr unsigned clock_of_multiprocessors = 1;  // NVML_CLOCK_SM

}  // namespace

/// The few functions of NVML's stable interface that are called; its header does not come with every toolkit.
struct GpuMeter::Library {
    void* handle = nullptr;
    void* device = nullptr;
    int (*shutdown)() = nullptr;
    int (*clock)(void*, unsigned, unsigned*) = nullptr;
    int (*energy)(void*, unsigned long long*) = nullptr;

    template <class Function>
    void find(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(::dlsym(handle, name));
    }

    void open() {
        handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            return;
        }
        int (*init)() = nullptr;
        int (*by_bus)(const char*, void**) = nullptr;
        find(init, "nvmlInit_v2");
        find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
        int number = 0;
        std::array<char, 32> bus{};
        check_cuda(cudaGetDevice(&number), "cudaGetDevice");
        check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), number), "cudaDeviceGetPCIBusId");
        if (init == nullptr || by_bus == nullptr || init() != success) {
            return;
        }
        find(shutdown, "nvmlShutdown");
        if (by_bus(bus.data(), &device) == success) {
            find(clock, "nvmlDeviceGetClockInfo");
            find(energy, "nvmlDeviceGetTotalEnergyConsumption");
        }
    }
};

GpuMeter::GpuMeter() : library_(std::make_unique<Library>()) {
    library_->open();
}

GpuMeter::~GpuMeter() {
    if (library_->shutdown != nullptr) {
        library_->shutdown();
    }
    if (library_->handle != nullptr) {
        ::dlclose(library_->handle);
    }
}

std::optional<double> GpuMeter::clock_mhz() const {
    unsigned value = 0;
    if (library_->clock == nullptr || library_->clock(library_->device, clock_of_multiprocessors, &value) != success) {
        return std::nullopt;
    }
    return value;
}

std::optional<double> GpuMeter::energy_joules() const {
    unsigned long long millijoules = 0;
    if (library_->energy == nullptr || library_->energy(library_->device, &millijoules) != success) {
        return std::nullopt;
    }
    return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace sluice::ladder
