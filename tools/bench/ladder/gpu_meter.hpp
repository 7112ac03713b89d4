#pragma once

#include <optional>

#include "core/machine/nvml.hpp"

namespace sluice::ladder {

/// What NVML tells about the current CUDA device. Where the library is missing, or does not tell, there is no value.
class GpuMeter {
public:
    GpuMeter();

    [[nodiscard]] std::optional<double> clock_mhz() const;      ///< Of the multiprocessors, now.
    [[nodiscard]] std::optional<double> energy_joules() const;  ///< Since the driver was loaded.

private:
    Nvml nvml_;
    Nvml::Gpu gpu_;
};

}  // namespace sluice::ladder
