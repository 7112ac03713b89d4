#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/generator.hpp"
#include "kernels/host/aligned.hpp"
#include "kernels/host/invariant_product.hpp"

namespace sluice {

/// The network's weights, packed. Layer 0 multiplies no input: what a symbol's embedding gives is a row of a table.
class HostGru {
public:
    HostGru(const GruShape& shape, const GruWeights& weights, PackedWeights& packed);

    [[nodiscard]] const GruShape& shape() const noexcept { return shape_; }

    /// W_i embedding[symbol] + b_i of layer 0: (3 hidden).
    [[nodiscard]] const float* first_input(std::uint8_t symbol) const;

    [[nodiscard]] InvariantView input(std::size_t layer) const { return inputs_.at(layer - 1).view(); }
    [[nodiscard]] InvariantView hidden(std::size_t layer) const { return hiddens_.at(layer).view(); }
    [[nodiscard]] InvariantView linear() const { return linear_.view(); }

private:
    GruShape shape_;
    PackedWeights::Room table_;             // (gru_symbols, 3 hidden)
    std::vector<InvariantMatrix> inputs_;   // of the layers from 1 on
    std::vector<InvariantMatrix> hiddens_;  // of all layers
    InvariantMatrix linear_;
};

/// Rows that take steps together, each with its own state. What a row computes does not depend on the others.
class GruRows {
public:
    /// The weights outlive it.
    GruRows(const HostGru& gru, std::size_t most_rows);

    /// Bytes of such an object.
    [[nodiscard]] static std::uint64_t bytes(const GruShape& shape, std::size_t most_rows);

    /// The first rows take a step, one for each symbol: their states change, and scores() are what follows.
    void step(std::span<const std::uint8_t> symbols);

    /// (gru_symbols), of a row's last step.
    [[nodiscard]] const float* scores(std::size_t row) const { return &scores_[row * gru_symbols]; }

    /// Of a row in a layer: (hidden).
    [[nodiscard]] std::span<float> state(std::size_t layer, std::size_t row);

    /// Makes row `to` what row `from` is, scores included.
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
