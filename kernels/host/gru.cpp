#include "kernels/host/gru.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "kernels/host/elementwise.hpp"

namespace sluice {
namespace {

/// Outputs [first, first + count) of `weights`, (outputs, inputs), for each symbol's embedding: (symbols, outputs).
void fill_table(const GruShape& shape, const GruWeights& weights, std::size_t first, std::size_t count, float* table) {
    const std::size_t inputs = shape.embedding;
    const std::size_t outputs = 3 * std::size_t{shape.hidden};
    const GruLayerWeights& layer = weights.layers.front();
    AlignedVector<float> panel(inputs * invariant_panel);
    AlignedVector<float> bias(invariant_panel);
    AlignedVector<float> products(gru_symbols * count);
    pack_invariant_panel(inputs, layer.input.subspan(first * inputs, count * inputs), panel.data());
    std::ranges::copy(layer.input_bias.subspan(first, count), bias.begin());
    InvariantProduct product(Precision::fp32, inputs, gru_symbols);
    product({inputs, count, panel.data(), bias.data()}, gru_symbols, weights.embedding.data(), products.data());
    for (std::size_t symbol = 0; symbol < gru_symbols; ++symbol) {
        std::copy_n(&products[symbol * count], count, table + symbol * outputs + first);
    }
}

PackedWeights::Room reserve_table(const GruShape& shape, const GruWeights& weights, PackedWeights& packed) {
    const std::size_t outputs = 3 * std::size_t{shape.hidden};
    std::vector<PackedWeights::Part> parts;
    for (std::size_t first = 0; first < outputs; first += invariant_panel) {
        const std::size_t count = std::min(invariant_panel, outputs - first);
        parts.emplace_back(
            [=](std::byte* room) { fill_table(shape, weights, first, count, reinterpret_cast<float*>(room)); });
    }
    return packed.reserve(gru_symbols * outputs * sizeof(float), std::move(parts));
}

}  // namespace

HostGru::HostGru(Precision precision, const GruShape& shape, const GruWeights& weights, PackedWeights& packed)
    : precision_(precision), shape_(shape) {
    expects(shape.layers >= 1 && weights.layers.size() == shape.layers, "gru: weights of as many layers as it has");
    expects(weights.embedding.size() == std::size_t{gru_symbols} * shape.embedding, "gru: an embedding a symbol");
    table_ = reserve_table(shape, weights, packed);
    for (const GruLayerWeights& layer : weights.layers) {
        if (&layer != &weights.layers.front()) {
            inputs_.push_back(reserve_invariant(precision, shape.hidden, layer.input, layer.input_bias, packed));
        }
        hiddens_.push_back(reserve_invariant(precision, shape.hidden, layer.hidden, layer.hidden_bias, packed));
    }
    linear_ = reserve_invariant(precision, shape.hidden, weights.linear, weights.linear_bias, packed);
}

const float* HostGru::first_input(std::uint8_t symbol) const {
    return table_.floats() + std::size_t{3} * shape_.hidden * symbol;
}

GruRows::GruRows(const HostGru& gru, std::size_t most_rows)
    : gru_(gru),
      states_(gru.shape().layers, AlignedVector<float>(most_rows * gru.shape().hidden)),
      from_input_(most_rows * 3 * gru.shape().hidden),
      from_state_(most_rows * 3 * gru.shape().hidden),
      scores_(most_rows * gru_symbols),
      product_(gru.precision(), gru.shape().hidden, most_rows) {}

std::uint64_t GruRows::bytes(const GruShape& shape, std::size_t most_rows) {
    constexpr std::uint64_t gates = 3;
    const std::uint64_t floats = (shape.layers + 2 * gates + 1) * std::uint64_t{shape.hidden} + gru_symbols;
    return most_rows * floats * sizeof(float);
}

std::span<float> GruRows::state(std::size_t layer, std::size_t row) {
    const std::size_t hidden = gru_.shape().hidden;
    return std::span(states_[layer]).subspan(row * hidden, hidden);
}

void GruRows::step(std::span<const std::uint8_t> symbols) {
    for (std::size_t layer = 0; layer < states_.size(); ++layer) {
        step_layer(layer, symbols);
    }
    product_(gru_.linear(), symbols.size(), states_.back().data(), scores_.data());
}

void GruRows::step_layer(std::size_t layer, std::span<const std::uint8_t> symbols) {
    const std::size_t hidden = gru_.shape().hidden;
    const std::size_t rows = symbols.size();
    if (layer != 0) {
        product_(gru_.input(layer), rows, states_[layer - 1].data(), from_input_.data());
    }
    product_(gru_.hidden(layer), rows, states_[layer].data(), from_state_.data());
    for (std::size_t row = 0; row < rows; ++row) {
        const float* const input = layer == 0 ? gru_.first_input(symbols[row]) : &from_input_[row * 3 * hidden];
        gru_gates(hidden, input, &from_state_[row * 3 * hidden], state(layer, row).data());
    }
}

void GruRows::copy_row(std::size_t from, std::size_t to) {
    for (std::size_t layer = 0; layer < states_.size(); ++layer) {
        std::ranges::copy(state(layer, from), state(layer, to).begin());
    }
    std::copy_n(&scores_[from * gru_symbols], gru_symbols, &scores_[to * gru_symbols]);
}

}  // namespace sluice
