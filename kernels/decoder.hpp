#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/interface.hpp"
#include "core/weights/packed_weights.hpp"
#include "core/weights/weight_values.hpp"
#include "kernels/decoder_shape.hpp"
#include "kernels/text_writer.hpp"
#include "kernels/token_sampling.hpp"

namespace sluice {

/// Storage order of a matrix.
enum class MatrixOrder : std::uint8_t {
    by_inputs,   ///< (inputs, outputs)
    by_outputs,  ///< (outputs, inputs)
};

/// A linear layer; it may have no bias.
struct DecoderLinear {
    WeightValues weights;
    WeightValues bias{};
    MatrixOrder order = MatrixOrder::by_inputs;
};

struct DecoderNorm {
    WeightValues gamma;   // (width)
    WeightValues beta{};  // (width); empty: none
};

struct DecoderBlockWeights {
    DecoderNorm attention_norm;
    DecoderLinear attention;   // width to attention_width(): queries, keys, values
    DecoderLinear projection;  // query_width() to width
    DecoderNorm inner_norm;
    DecoderLinear expansion;    // width to expanded_width(); gated: the gates, then the values that they multiply
    DecoderLinear contraction;  // inner to width
};

struct DecoderWeights {
    WeightValues tokens;     // (vocabulary, width); also the head's weights if `head` is empty
    WeightValues positions;  // (positions, width); empty with rotary positions
    std::vector<DecoderBlockWeights> blocks{};
    DecoderNorm last_norm;
    WeightValues head{};  // (vocabulary, width); empty: tied to `tokens`
};

/// Continues prompts. In: items; out: results. Given the scores s that follow a text, after penalty, top_k and top_p,
/// let w[i] = floor(token_weight_unit * exp((s[i] - max(s)) / temperature)). The next token is the first i with w[0] +
/// … + w[i] > floor(u * sum(w)), where u in [0, 1) is a random number of the item and the token. Sums of integers do
/// not depend on their order. In other precisions than fp32 GPUs compare with sums in fp32, of one order, u where they
/// draw by a temperature alone, in two steps, and top_p where neither penalty nor top_k comes before it: they differ
/// where u or top_p is as close to a sum as these are off. The token's log-probability is that of softmax(s) of the
/// unmodified scores.
///
/// A NaN score counts as -infinity, greedy or drawn. If the largest score is infinite, which includes all scores being
/// NaN, the token is the first that has it, without a draw; so it is token 0 if no score exceeds -infinity. Draws in
/// two steps give token 0 where any score is NaN or infinite. A log-probability is the NaN 0x7FC00000 if a score is NaN
/// or the largest is infinite; of draws in two steps, if any score is infinite.
///
/// GPUs also report how narrowly choices were decided: a TextDoubt per item, or max_new ChoiceDoubts per item, which
/// are unspecified after the end of a text.
class Decoder : public TextWriter {
public:
    /// Makes a checker of drafts that uses this decoder's network, sampling and memory, so not while the decoder
    /// continues prompts. The decoder outlives the checker, and counts the texts that are corrected, less the drafts
    /// that they replace (modulo 2^64). Null if this kind of decoder cannot check drafts.
    [[nodiscard]] virtual std::unique_ptr<TextChecker> make_checker(Device& device, std::uint32_t most_items) {
        static_cast<void>(device);
        static_cast<void>(most_items);
        return nullptr;
    }
};

class DecoderLayer : public Interface {
public:
    /// Makes a decoder that uses at most `device_bytes` of device memory, which is at least least_bytes(). Call once
    /// the weights are packed. Thread-safe. The layer and the weights outlive the decoder.
    [[nodiscard]] virtual std::unique_ptr<Decoder> make_decoder(Device& device, std::uint32_t most_items,
                                                                std::uint64_t device_bytes) const = 0;

    /// Device memory with which a decoder can be made on any device.
    [[nodiscard]] virtual std::uint64_t least_bytes(std::uint32_t most_items) const = 0;

    /// Device memory that make_decoder() with the same arguments uses.
    [[nodiscard]] virtual std::uint64_t bytes(Device& device, std::uint32_t most_items,
                                              std::uint64_t device_bytes) const = 0;
};

class DecoderKernels : public Interface {
public:
    /// `weights` belong to the caller and must stay alive until `packed` is packed.
    [[nodiscard]] virtual std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape,
                                                                const DecoderWeights& weights,
                                                                const TokenSampling& sampling,
                                                                PackedWeights& packed) const = 0;
};

}  // namespace sluice
