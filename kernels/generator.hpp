#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/packed_weights.hpp"
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

inline constexpr std::uint32_t gru_symbols = 256;

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

/// How the next byte is chosen.
struct Sampling {
    std::uint32_t max_length = 1;  ///< Bytes of a text, its prefix included.
    float temperature = 1;         ///< Divides the scores; 0: greedy, the first byte with the largest score.
    std::uint32_t top_k = 0;       ///< Only the top_k largest scores count, the first among equals; 0: all.
    std::uint64_t seed = 0;        ///< For items that bring no draws.
    /// On GPUs: maximum number of tables, at least one, of the bytes that follow no byte, each byte, each two bytes.
    /// Fewer give the same texts in more steps.
    std::uint32_t prefix_tables = 3;
};

/// Header of an item; then max_length fp32 draws in [0, 1] and max_length bytes that begin with the prefix, padded.
struct TextStart {
    std::uint64_t number = 0;     ///< The item's number in the job; seeds its draws if it brings none.
    std::uint32_t prefix = 0;     ///< Bytes.
    std::uint32_t has_draws = 0;  ///< 1: draw i decides byte i of the text; 0: the draws are ignored.
};

/// Header of a result; then max_length bytes, zeros after the text, padded.
struct TextEnd {
    std::int32_t length = 0;    ///< Bytes of the text, its prefix included.
    float log_probability = 0;  ///< Of the chosen bytes and end, by the network's scores as they are.
};

[[nodiscard]] constexpr std::uint32_t rounded_up(std::uint32_t bytes, std::uint32_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

[[nodiscard]] constexpr IoShape generator_io(std::uint32_t max_length) {
    constexpr std::uint32_t draw_bytes = sizeof(float);
    return {static_cast<std::uint32_t>(sizeof(TextStart)) + rounded_up(max_length * (draw_bytes + 1), 8),
            static_cast<std::uint32_t>(sizeof(TextEnd)) + rounded_up(max_length, 4)};
}

/// Writes texts: the input is byte 1, then the prefix, then each chosen byte; byte 0 ends a text and is no part of it.
/// In: items; out: results and, if a second output is given, the TextDoubt of each item.
///
/// A step of a layer with input x and state h, initially 0 (the reset gate acts after the product, as in torch.nn.GRU
/// and cuDNN, not before as in Cho et al. 2014):
///   r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_in x + b_in + r * (W_hn h + b_hn));  h' = (1 - z) n + z h.
/// The linear layer computes scores s from the last layer's state; p = softmax(s / temperature); the byte is the first
/// i with p[0] + … + p[i] > draw, summed in fp32 in that order, or else the last with p[i] > 0.
class Generator : public TextWriter {};

class GeneratorLayer {
public:
    GeneratorLayer() = default;
    GeneratorLayer(const GeneratorLayer&) = delete;
    GeneratorLayer& operator=(const GeneratorLayer&) = delete;
    virtual ~GeneratorLayer() = default;

    /// Thread-safe; only after the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Generator> make_generator(Device& device, std::uint32_t max_items) const = 0;

    /// Most device memory, in bytes, that the operation needs: that by mma.sync; by wgmma it needs less.
    [[nodiscard]] virtual std::uint64_t work_bytes(std::uint32_t max_items) const = 0;
};

class GeneratorKernels {
public:
    GeneratorKernels() = default;
    GeneratorKernels(const GeneratorKernels&) = delete;
    GeneratorKernels& operator=(const GeneratorKernels&) = delete;
    virtual ~GeneratorKernels() = default;

    /// `weights` stay the caller's until `packed` is packed.
    [[nodiscard]] virtual std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights,
                                                              const Sampling& sampling,
                                                              PackedWeights& packed) const = 0;
};

}  // namespace sluice
