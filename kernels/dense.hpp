#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/interface.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/operation.hpp"

namespace sluice {

/// (items, inputs) fp32 -> (items, outputs) fp32.
struct LinearShape {
    std::uint32_t inputs;
    std::uint32_t outputs;
    bool relu = false;
    /// Channels of the preceding activations, (positions, channels) in memory, where the weights index their inputs as
    /// channel * positions + position. Divides inputs.
    std::uint32_t channels = 1;
    /// An item's output is bitwise independent of the batch: the order of its sums is the same for any number of items.
    /// Otherwise a GPU's products may be a library's, which may choose the order by that number; the host's never are.
    bool batch_invariant = false;
};

/// Set in a label if any of the item's scores is NaN or infinite: reveals it where the scores stay on the device.
inline constexpr std::int32_t nonfinite_mark = 1 << 30;

/// (items, inputs) -> a result for each item: int32 label, then with `scores` `classes` fp32 scores.
struct ClassifyShape {
    std::uint32_t inputs;
    std::uint32_t classes;
    bool scores = false;
    bool marks_nonfinite = false;  ///< By nonfinite_mark.
};

/// Dense layers, in one backend and precision.
class DenseKernels : public Interface {
public:
    /// out[o] = bias[o] + sum over i of weights[o][i] * in[i]; then max(0, out) if relu. weights: (outputs, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights,
                                                        std::span<const float> bias, PackedWeights& packed) const = 0;

    /// s[c] = bias[c] + sum over i of weights[c][i] * in[i]; label = the smallest c with s[c] = max over all classes; a
    /// NaN never wins against an earlier class. weights: (classes, inputs).
    [[nodiscard]] virtual std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                                          std::span<const float> bias, PackedWeights& packed) const = 0;
};

}  // namespace sluice
