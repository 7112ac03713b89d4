#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/packed_weights.hpp"
#include "kernels/text_writer.hpp"

namespace sluice {

/// A network that is given a byte a step and scores each of the 256 that may come next: an embedding, GRU layers one
/// on the other, and a linear layer.
struct GruShape {
    std::uint32_t embedding;
    std::uint32_t hidden;
    std::uint32_t layers;
    friend bool operator==(const GruShape&, const GruShape&) = default;
};

inline constexpr std::uint32_t gru_symbols = 256;

/// As torch.nn.GRU writes them: the rows of the gates r, z, n after one another.
struct GruLayerWeights {
    std::span<const float> input;        // (3 hidden, inputs): the embedding's size, or the layer's before
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
    float temperature = 1;         ///< Scores are divided by it; 0: the byte with the largest, of several the first.
    std::uint32_t top_k = 0;       ///< Only so many largest scores count, of equal ones the first; 0: all.
    std::uint64_t seed = 0;        ///< Of the draws that an item does not bring.
    /// On GPUs, at most so many tables, at least one: of what may follow no byte, any one, any two. Fewer make the
    /// same texts, by more steps.
    std::uint32_t prefix_tables = 3;
};

/// The beginning of an item; then max_length draws in [0, 1], fp32, and max_length bytes of its prefix, padded.
struct TextStart {
    std::uint64_t number = 0;     ///< The item's in the job: draws that it does not bring follow from that.
    std::uint32_t prefix = 0;     ///< Bytes.
    std::uint32_t has_draws = 0;  ///< 1: for byte i of the text draw i is used; 0: what lies there is not.
};

/// The beginning of a result; then max_length bytes, zeros after the text, padded.
struct TextEnd {
    std::int32_t length = 0;    ///< Bytes of the text, its prefix included.
    float log_probability = 0;  ///< Of what was chosen, an end included, by the network's own scores.
};

[[nodiscard]] constexpr std::uint32_t rounded_up(std::uint32_t bytes, std::uint32_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

[[nodiscard]] constexpr IoShape generator_io(std::uint32_t max_length) {
    constexpr std::uint32_t draw_bytes = sizeof(float);
    return {static_cast<std::uint32_t>(sizeof(TextStart)) + rounded_up(max_length * (draw_bytes + 1), 8),
            static_cast<std::uint32_t>(sizeof(TextEnd)) + rounded_up(max_length, 4)};
}

/// Writes texts: byte 1 is the first to go in, then each byte that was chosen; 0 ends a text and is no part of it. With
/// a prefix its bytes go in first. In: items; out: results, and the TextDoubt of each item where that is given, too.
///
/// A step, for a layer with input x and state h, which is 0 at first (the reset gate acts after the product, as in
/// torch.nn.GRU and cuDNN; Cho et al. 2014 have it before):
///   r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_in x + b_in + r * (W_hn h + b_hn));  h' = (1 - z) n + z h.
/// Of the last layer's state the linear layer makes scores s; p = softmax(s / temperature); the byte is the first i
/// with p[0] + … + p[i] > draw, summed in fp32 in that order, or the last that may be chosen.
class Generator : public TextWriter {};

class GeneratorLayer {
public:
    GeneratorLayer() = default;
    GeneratorLayer(const GeneratorLayer&) = delete;
    GeneratorLayer& operator=(const GeneratorLayer&) = delete;
    virtual ~GeneratorLayer() = default;

    /// Thread-safe; once the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Generator> make_generator(Device& device, std::uint32_t max_items) const = 0;

    /// That the operation takes of the device's memory at most: by mma.sync; by wgmma it takes less.
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
