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
    /// An item's output has the same bits whatever is computed beside it: its sums are taken in one order, which is the
    /// same for any number of items. Otherwise products may be a library's, which may choose by that.
    bool batch_invariant = false;
};

/// Set in a label where one of the scores that it was chosen among is NaN or infinite, so that this is noticed where
/// the scores themselves stay on the device.
inline constexpr std::int32_t nonfinite_mark = 1 << 30;

/// (items, inputs) -> items results of int32 label and, with scores, `classes` fp32.
struct ClassifyShape {
    std::uint32_t inputs;
    std::uint32_t classes;
    bool scores = false;
    bool marks_nonfinite = false;  ///< By nonfinite_mark.
    bool batch_invariant = false;  ///< As LinearShape::batch_invariant.
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
