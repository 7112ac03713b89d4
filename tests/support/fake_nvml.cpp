// A libnvidia-ml.so.1 that plays the script in the file that SLUICE_FAKE_NVML names. A line is one look at a GPU:
// "UUID ADDRESS MHZ MILLIWATTS MILLIJOULES LIMITS"; each look at a GPU, which begins with its clock, takes its next
// line, and the last one stays. "-" is not supported. Without a script it does not start.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int driver_not_loaded = 9;

struct Look {
    std::string clock, power, energy, limits;
};

struct Gpu {
    std::string uuid, address;
    std::vector<Look> looks{};
    std::size_t next = 0;

    [[nodiscard]] const Look& now() const { return looks[next == 0 ? 0 : next - 1]; }
};

std::vector<Gpu>& gpus() {
    static std::vector<Gpu> all;
    return all;
}

Gpu* find(std::string Gpu::*name, const char* wanted) {
    for (Gpu& gpu : gpus()) {
        if (gpu.*name == wanted) {
            return &gpu;
        }
    }
    return nullptr;
}

int give(void** device, Gpu* gpu) {
    *device = gpu;
    return gpu == nullptr ? not_found : success;
}

template <class Value>
int give(Value* to, const std::string& text) {
    if (text == "-") {
        return not_supported;
    }
    *to = static_cast<Value>(std::stoull(text, nullptr, 0));
    return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    const char* const path = std::getenv("SLUICE_FAKE_NVML");
    if (path == nullptr) {
        return driver_not_loaded;
    }
    gpus().clear();
    std::ifstream script(path);
    std::string uuid;
    std::string address;
    Look look;
    while (script >> uuid >> address >> look.clock >> look.power >> look.energy >> look.limits) {
        if (find(&Gpu::uuid, uuid.c_str()) == nullptr) {
            gpus().push_back({uuid, address});
        }
        find(&Gpu::uuid, uuid.c_str())->looks.push_back(look);
    }
    return success;
}

int nvmlShutdown() {
    return success;
}

const char* nvmlErrorString(int error) {
    return error == not_found ? "Not Found" : error == driver_not_loaded ? "Driver Not Loaded" : "Unknown";
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    return give(device, find(&Gpu::uuid, uuid));
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    return give(device, find(&Gpu::address, address));
}

int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* mhz) {
    auto* const gpu = static_cast<Gpu*>(device);
    gpu->next += gpu->next < gpu->looks.size() ? 1U : 0U;
    return kind == 1 ? give(mhz, gpu->now().clock) : not_supported;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    return give(milliwatts, static_cast<Gpu*>(device)->now().power);
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    return give(millijoules, static_cast<Gpu*>(device)->now().energy);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    return give(reasons, static_cast<Gpu*>(device)->now().limits);
}

}  // extern "C"
