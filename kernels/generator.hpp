#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/interface.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/sampling.hpp"
#include "kernels/text_writer.hpp"

namespace sluice {

/// A network that reads one byte per step and scores the 256 candidates for the next: an embedding, stacked GRU layers,
/// and a linear layer.
struct GruShape {
    std::uint32_t embedding;
    std::uint32_t hidden;
    std::uint32_t layers;
    friend bool operator==(const GruShape&, const GruShape&) = default;
};

/// As in torch.nn.GRU: the rows of gate r, then z, then n.
struct GruLayerWeights {
    std::span<const float> input;        // (3 hidden, inputs); inputs: embedding in the first layer, then hidden
    std::span<const float> hidden;       // (3 hidden, hidden)
    std::span<const float> input_bias;   // (3 hidden)
    std::span<const float> hidden_bias;  // (3 hidden)
};

struct GruWeights {
    std::span<const float> embedding;  // (gru_symbols, embedding)
    std::vector<GruLayerWeights> layers{};
    std::span<const float> linear;       // (gru_symbols, hidden)
    std::span<const float> linear_bias;  // (gru_symbols)
};

/// Writes texts: the input is byte 1, then the prefix, then each chosen byte; byte 0 ends a text and is no part of it.
/// In: items; out: results and, if a second output is given, the TextDoubt of each item.
///
/// A step of a layer with input x and state h, initially 0 (the reset gate acts after the product, as in torch.nn.GRU
/// and cuDNN, not before as in Cho et al. 2014):
///   r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_in x + b_in + r * (W_hn h + b_hn));  h' = (1 - z) n + z h.
/// The linear layer computes scores s from the last layer's state; p = softmax(s / temperature); the byte is the first
/// i with p[0] + … + p[i] > draw, summed in fp32 in that order, or else the last with p[i] > 0.
class Generator : public TextWriter {};

class GeneratorLayer : public Interface {
public:
    /// Thread-safe; only after the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Generator> make_generator(Device& device, std::uint32_t most_items) const = 0;

    /// Device memory, in bytes, that a generator takes at most: on a GPU by mma.sync; by wgmma it takes less.
    [[nodiscard]] virtual std::uint64_t work_bytes(std::uint32_t most_items) const = 0;
};

class GeneratorKernels : public Interface {
public:
    /// `weights` stay the caller's until `packed` is packed.
    [[nodiscard]] virtual std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights,
                                                              const Sampling& sampling,
                                                              PackedWeights& packed) const = 0;
};

}  // namespace sluice
