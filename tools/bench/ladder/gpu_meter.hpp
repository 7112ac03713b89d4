#pragma once

#include <memory>
#include <optional>
#include <string>

namespace sluice::ladder {

/// What the driver's management library (NVML) tells about the current CUDA device. The library is looked for at run
/// time; where it is missing, or does not tell, there is no value.
class GpuMeter {
public:
    GpuMeter();
    GpuMeter(const GpuMeter&) = delete;
    GpuMeter& operator=(const GpuMeter&) = delete;
    ~GpuMeter();

    [[nodiscard]] std::optional<double> clock_mhz() const;      ///< Of the multiprocessors, now.
    [[nodiscard]] std::optional<double> energy_joules() const;  ///< Since the driver was loaded.

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace sluice::ladder
