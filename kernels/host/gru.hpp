#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/generator.hpp"
#include "kernels/host/aligned.hpp"
#include "kernels/host/invariant_product.hpp"

namespace sluice {

/// The network's packed weights. Layer 0 has no input product: its result for each symbol is a row of a table.
class HostGru {
public:
    /// Products of hidden states are in `precision`, fp32 or bf16.
    HostGru(Precision precision, const GruShape& shape, const GruWeights& weights, PackedWeights& packed);

    [[nodiscard]] Precision precision() const noexcept { return precision_; }
    [[nodiscard]] const GruShape& shape() const noexcept { return shape_; }

    /// W_i embedding[symbol] + b_i of layer 0: (3 hidden).
    [[nodiscard]] const float* first_input(std::uint8_t symbol) const;

    [[nodiscard]] InvariantView input(std::size_t layer) const { return inputs_.at(layer - 1).view(); }
    [[nodiscard]] InvariantView hidden(std::size_t layer) const { return hiddens_.at(layer).view(); }
    [[nodiscard]] InvariantView linear() const { return linear_.view(); }

private:
    Precision precision_;
    GruShape shape_;
    PackedWeights::Room table_;             // (gru_symbols, 3 hidden)
    std::vector<InvariantMatrix> inputs_;   // of the layers from 1 on
    std::vector<InvariantMatrix> hiddens_;  // of all layers
    InvariantMatrix linear_;
};

/// Rows that step together, each with its own state. A row's results do not depend on the others.
class GruRows {
public:
    /// `gru` outlives this object.
    GruRows(const HostGru& gru, std::size_t most_rows);

    /// Most bytes that an object's buffers take.
    [[nodiscard]] static std::uint64_t bytes(const GruShape& shape, std::size_t most_rows);

    /// Advances the first symbols.size() rows by one symbol each: updates their states and scores().
    void step(std::span<const std::uint8_t> symbols);

    /// (gru_symbols), of a row's last step.
    [[nodiscard]] const float* scores(std::size_t row) const { return &scores_[row * gru_symbols]; }

    /// (hidden), of one row in one layer.
    [[nodiscard]] std::span<float> state(std::size_t layer, std::size_t row);

    /// Copies row `from`'s states and scores to row `to`.
    void copy_row(std::size_t from, std::size_t to);

private:
    void step_layer(std::size_t layer, std::span<const std::uint8_t> symbols);

    const HostGru& gru_;
    std::vector<AlignedVector<float>> states_;  // (layers) of (rows, hidden)
    AlignedVector<float> from_input_;           // (rows, 3 hidden)
    AlignedVector<float> from_state_;           // (rows, 3 hidden)
    AlignedVector<float> scores_;               // (rows, gru_symbols)
    InvariantProduct product_;
};

}  // namespace sluice
