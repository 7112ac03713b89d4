#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/modes.hpp"
#include "core/weights/packed_weights.hpp"
#include "core/weights/weight_values.hpp"
#include "kernels/host/aligned.hpp"

namespace sluice {

// Products with a fixed order of summation. In fp32 each output is a chain of fused multiply-adds in the order of its
// inputs, cut after every 512 of them:
//   out = ((bias + chain over the first 512 inputs) + chain over the next ones) + …
// This depends neither on the number of rows nor on the instructions nor on the loops around. In bf16, for which a CPU
// needs AMX, inputs and weights are rounded, and sums are those of tile_product.hpp.

inline constexpr std::size_t invariant_panel = 32;  ///< Outputs in a panel, whose weights are contiguous.

/// A matrix and its bias in the products' layout; not owned.
struct InvariantView {
    std::size_t inputs;
    std::size_t outputs;
    const void* weights;  ///< fp32: (panels, inputs, invariant_panel), zeros beyond the outputs; bf16: TileMatrix's.
    const float* bias;    ///< (panels, invariant_panel).
    Precision precision = Precision::fp32;

    /// As products read it.
    [[nodiscard]] float weight(std::size_t output, std::size_t input) const;
};

/// The same as part of a model's packed weights.
struct InvariantMatrix {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    Precision precision = Precision::fp32;
    PackedWeights::Room weights{};
    PackedWeights::Room bias{};

    /// Only after the weights are packed.
    [[nodiscard]] InvariantView view() const { return {inputs, outputs, weights.data(), bias.floats(), precision}; }
};

/// Returns `count` rows of the weights, (count, inputs), from row `first` on. Called on any thread.
using WeightRows = std::function<std::vector<float>(std::size_t first, std::size_t count)>;

/// Reserves space for a matrix for products in `precision`, fp32 or bf16. `bias` and what `rows` reads stay alive until
/// `packed` is packed.
[[nodiscard]] InvariantMatrix reserve_invariant(Precision precision, std::size_t inputs, const WeightRows& rows,
                                                const WeightValues& bias, PackedWeights& packed);

/// The same for weights stored as (outputs, inputs).
[[nodiscard]] InvariantMatrix reserve_invariant(Precision precision, std::size_t inputs, const WeightValues& weights,
                                                const WeightValues& bias, PackedWeights& packed);

/// Packs at most invariant_panel rows of weights, (rows, inputs), as one panel of fp32.
void pack_invariant_panel(std::size_t inputs, std::span<const float> rows, float* to);

enum class AfterProduct { nothing, relu };

/// Multiplies rows by matrices; owns the workspace.
class InvariantProduct {
public:
    /// For matrices in `precision` of up to `most_inputs` inputs, and up to `most_rows` rows.
    InvariantProduct(Precision precision, std::size_t most_inputs, std::size_t most_rows);

    /// in: (rows, inputs), out: (rows, outputs), which do not overlap.
    void operator()(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                    AfterProduct after = AfterProduct::nothing);

private:
    void multiply_rounded(const InvariantView& matrix, std::size_t rows, const float* in, float* out,
                          AfterProduct after);

    AlignedVector<float> packed_in_;           // fp32: inputs of some rows, packed by pack_rows()
    AlignedVector<std::uint16_t> rounded_in_;  // bf16: of some rows, padded
};

}  // namespace sluice
