#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/generator/weights.hpp"

namespace sluice::generator {

/// What each symbol's embedding gives for the gates of layer 0, the layer's input_bias included: (256, gate_columns),
/// of bf16 and fp16 in fp16, else in fp32. In fp16 a value beyond what it holds becomes the largest it holds, 65504: a
/// gate is saturated by a thousandth of that, unless a state's part of it is as large.
class InputTable {
public:
    /// Computed when this returns, in the order of sums of the host's.
    InputTable(Device& device, const PaddedShape& shape, Precision precision, const WeightsOnDevice& weights);

    [[nodiscard]] const void* data() const { return table_.bytes().data(); }
    /// Of a table in fp32.
    [[nodiscard]] const float* floats() const { return table_.as<float>().data(); }
    /// At most, while it is made.
    [[nodiscard]] static std::uint64_t bytes(const PaddedShape& shape, Precision precision);

private:
    Buffer table_;
};

}  // namespace sluice::generator
