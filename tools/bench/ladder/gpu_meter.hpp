#pragma once

#include "core/machine/nvml.hpp"

namespace sluice::ladder {

/// NVML's values for the current CUDA device; none where the library is missing.
class GpuMeter {
public:
    GpuMeter();

    [[nodiscard]] GpuReading read() const;

private:
    Nvml nvml_;
    Nvml::Gpu gpu_;
};

}  // namespace sluice::ladder
