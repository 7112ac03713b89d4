#pragma once

#include <optional>

#include "core/machine/nvml.hpp"

namespace sluice::ladder {

/// NVML's values for the current CUDA device; nullopt where the library or the value is missing.
class GpuMeter {
public:
    GpuMeter();

    [[nodiscard]] std::optional<double> clock_mhz() const;      ///< Current clock of the multiprocessors.
    [[nodiscard]] std::optional<double> energy_joules() const;  ///< Since the driver was loaded.

private:
    Nvml nvml_;
    Nvml::Gpu gpu_;
};

}  // namespace sluice::ladder
