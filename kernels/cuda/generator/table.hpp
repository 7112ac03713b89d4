#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/generator/weights.hpp"

namespace sluice::generator {

/// Layer 0's input products of each symbol, with the layer's input_bias: (256, gate_columns), fp16 for bf16 and fp16,
/// otherwise fp32. In fp16, values are clamped to its largest, 65504: a thousandth of that saturates a gate, unless the
/// state's part of it is as large.
class InputTable {
public:
    /// Blocks until computed, in the host's order of sums.
    InputTable(Device& device, const PaddedShape& shape, Precision precision, const WeightsOnDevice& weights);

    [[nodiscard]] const void* data() const { return table_.bytes().data(); }
    /// Requires a table in fp32.
    [[nodiscard]] const float* floats() const { return table_.as<float>().data(); }
    /// Peak of device memory in bytes, while it is made.
    [[nodiscard]] static std::uint64_t bytes(const PaddedShape& shape, Precision precision);

private:
    Buffer table_;
};

}  // namespace sluice::generator
