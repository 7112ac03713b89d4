#include "core/machine/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr int success = 0;
constexpr unsigned clock_of_multiprocessors = 1;  // NVML_CLOCK_SM

}  // namespace

/// The few functions of its stable interface that are called; its header does not come with every toolkit.
struct Nvml::Library {
    void* handle = nullptr;
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;  // once it has started
    const char* (*error_text)(int) = nullptr;
    int (*by_uuid)(const char*, Gpu*) = nullptr;
    int (*by_address)(const char*, Gpu*) = nullptr;
    int (*clock)(Gpu, unsigned, unsigned*) = nullptr;
    int (*power)(Gpu, unsigned*) = nullptr;
    int (*energy)(Gpu, unsigned long long*) = nullptr;
    int (*limits)(Gpu, unsigned long long*) = nullptr;

    template <class Function>
    bool load(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(::dlsym(handle, name));
        return function != nullptr;
    }

    [[nodiscard]] std::string text_of(int error) const {
        return error_text == nullptr ? fmt::format("error {}", error) : escaped(error_text(error));
    }

    /// What `function` puts into its last argument; nullopt: there is none, or it refuses.
    template <class Value, class... Parameters, class... Arguments>
    static std::optional<Value> ask(int (*function)(Parameters...), Arguments... arguments) {
        Value value{};
        return function != nullptr && function(arguments..., &value) == success ? std::optional(value) : std::nullopt;
    }
};

Nvml::Nvml(const std::string& library) : library_(std::make_unique<Library>()) {
    library_->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_->handle == nullptr) {
        problem_ = escaped(::dlerror());  // NOLINT(concurrency-mt-unsafe): of this thread
        return;
    }
    library_->load(library_->error_text, "nvmlErrorString");
    int (*shutdown)() = nullptr;
    if (!library_->load(library_->init, "nvmlInit_v2") || !library_->load(shutdown, "nvmlShutdown")) {
        problem_ = fmt::format("{} lacks nvmlInit_v2 or nvmlShutdown", escaped(library));
        return;
    }
    if (const int error = library_->init(); error != success) {
        problem_ = "nvmlInit_v2: " + library_->text_of(error);
        return;
    }
    library_->shutdown = shutdown;
    library_->load(library_->by_uuid, "nvmlDeviceGetHandleByUUID");
    library_->load(library_->by_address, "nvmlDeviceGetHandleByPciBusId_v2");
    library_->load(library_->clock, "nvmlDeviceGetClockInfo");
    library_->load(library_->power, "nvmlDeviceGetPowerUsage");
    library_->load(library_->energy, "nvmlDeviceGetTotalEnergyConsumption");
    library_->load(library_->limits, "nvmlDeviceGetCurrentClocksThrottleReasons");
}

Nvml::~Nvml() {
    if (library_->shutdown != nullptr) {
        library_->shutdown();
    }
    if (library_->handle != nullptr) {
        ::dlclose(library_->handle);
    }
}

Nvml::Gpu Nvml::find(const std::string& uuid_or_address) {
    if (library_->shutdown == nullptr) {
        return nullptr;
    }
    const bool is_uuid = uuid_or_address.starts_with("GPU-");
    auto* const look = is_uuid ? library_->by_uuid : library_->by_address;
    Gpu gpu = nullptr;
    const int error = look == nullptr ? 0 : look(uuid_or_address.c_str(), &gpu);
    if (look == nullptr || error != success || gpu == nullptr) {
        problem_ =
            fmt::format("{} of {}: {}", is_uuid ? "nvmlDeviceGetHandleByUUID" : "nvmlDeviceGetHandleByPciBusId",
                        escaped(uuid_or_address), look == nullptr ? "the library lacks it" : library_->text_of(error));
        return nullptr;
    }
    problem_.clear();
    return gpu;
}

GpuReading Nvml::read(Gpu gpu) const {
    constexpr double milli = 1e-3;
    GpuReading reading;
    reading.clock_mhz = Library::ask<unsigned>(library_->clock, gpu, clock_of_multiprocessors);
    if (const auto milliwatts = Library::ask<unsigned>(library_->power, gpu)) {
        reading.watts = *milliwatts * milli;
    }
    if (const auto millijoules = Library::ask<unsigned long long>(library_->energy, gpu)) {
        reading.joules = static_cast<double>(*millijoules) * milli;
    }
    reading.limits = Library::ask<unsigned long long>(library_->limits, gpu);
    return reading;
}

}  // namespace sluice
