#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/packed_weights.hpp"
#include "kernels/operation.hpp"

namespace sluice {

/// (items, inputs) fp32 -> (items, outputs) fp32.
struct LinearShape {
    std::uint32_t inputs;
    std::uint32_t outputs;
    bool relu = false;
    /// Of the activations before, (positions, channels) in memory, when the weights number their inputs the other way
    /// round: input channel * positions + position. Divides inputs.
    std::uint32_t channels = 1;
};

/// (items, inputs) -> items records of int32 label and, with scores, `classes` fp32.
struct ClassifyShape {
    std::uint32_t inputs;
    std::uint32_t classes;
    bool scores = false;
    bool marks_nonfinite = false;  ///< The label gets nonfinite_mark where one of its scores is NaN or infinite.
};

/// Products of whole items with a matrix, in one backend and precision.
class DenseKernels {
public:
    DenseKernels() = default;
    DenseKernels(const DenseKernels&) = delete;
    DenseKernels& operator=(const DenseKernels&) = delete;
    virtual ~DenseKernels() = default;

    /// out[o] = bias[o] + sum over i of weights[o][i] * in[i]; then max(0, out) if relu. weights: (outputs, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights,
                                                        std::span<const float> bias, PackedWeights& packed) const = 0;

    /// s[c] = bias[c] + sum over i of weights[c][i] * in[i]; label = the smallest c with s[c] = max over all classes; a
    /// NaN never wins against an earlier class. weights: (classes, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                                          std::span<const float> bias, PackedWeights& packed) const = 0;
};

}  // namespace sluice
