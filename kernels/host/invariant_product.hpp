#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/packed_weights.hpp"
#include "kernels/host/aligned.hpp"

namespace sluice {

// Products with a fixed order of summation: each output is a chain of fused multiply-adds in the order of its inputs,
// cut after every 512 of them:
//   out = ((bias + chain over the first 512 inputs) + chain over the next ones) + …
// This depends neither on the number of rows nor on the instructions nor on the loops around.

inline constexpr std::size_t invariant_panel = 32;  ///< Outputs in a panel, whose weights are contiguous.

/// A matrix and its bias in the products' layout; not owned.
struct InvariantView {
    std::size_t inputs;
    std::size_t outputs;
    const float* weights;  ///< (panels, inputs, invariant_panel), zeros beyond the outputs.
    const float* bias;     ///< (panels, invariant_panel).
};

/// The same as part of a model's packed weights.
struct InvariantMatrix {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    PackedWeights::Room weights{};
    PackedWeights::Room bias{};

    /// Only after the weights are packed.
    [[nodiscard]] InvariantView view() const { return {inputs, outputs, weights.floats(), bias.floats()}; }
};

/// Returns `count` rows of the weights, (count, inputs), from row `first` on. Called on any thread.
using WeightRows = std::function<std::vector<float>(std::size_t first, std::size_t count)>;

/// Reserves space for a matrix. `bias` and what `rows` reads stay alive until `packed` is packed.
[[nodiscard]] InvariantMatrix reserve_invariant(std::size_t inputs, const WeightRows& rows, std::span<const float> bias,
                                                PackedWeights& packed);

/// The same for weights stored as (outputs, inputs).
[[nodiscard]] InvariantMatrix reserve_invariant(std::size_t inputs, std::span<const float> weights,
                                                std::span<const float> bias, PackedWeights& packed);

/// Packs at most invariant_panel rows of weights, (rows, inputs), as one panel.
void pack_invariant_panel(std::size_t inputs, std::span<const float> rows, float* to);

enum class AfterProduct { nothing, relu };

/// Multiplies rows by matrices; owns the workspace.
class InvariantProduct {
public:
    /// For matrices of up to `most_inputs` inputs, and up to `most_rows` rows.
    InvariantProduct(std::size_t most_inputs, std::size_t most_rows);

    /// in: (rows, inputs), out: (rows, outputs), which do not overlap.
    void operator()(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                    AfterProduct after = AfterProduct::nothing);

private:
    AlignedVector<float> packed_in_;  // inputs of some rows, packed by pack_rows()
};

}  // namespace sluice
