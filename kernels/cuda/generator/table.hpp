#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/generator/weights.hpp"

namespace sluice::generator {

/// What each symbol's embedding gives for the gates of layer 0, biases included: (256, gate_columns) fp32.
class InputTable {
public:
    /// Computed when this returns, in the order of sums of the host's.
    InputTable(Device& device, const PaddedShape& shape, const WeightsOnDevice& weights);

    [[nodiscard]] const float* data() const { return table_.as<float>().data(); }
    [[nodiscard]] static std::uint64_t bytes(const PaddedShape& shape);

private:
    Buffer table_;
};

}  // namespace sluice::generator
