#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/packed_weights.hpp"
#include "kernels/text_writer.hpp"

namespace sluice {

/// A transformer that reads tokens and scores each that may come next: token and position embeddings; blocks of causal
/// self-attention and a layer of `inner` units, each behind a normalisation and beside a residual; a last
/// normalisation; the product with the token embeddings. Radford et al. 2019, "Language Models are Unsupervised
/// Multitask Learners" (GPT-2).
struct DecoderShape {
    std::uint32_t vocabulary;
    std::uint32_t positions;
    std::uint32_t width;
    std::uint32_t layers;
    std::uint32_t heads;  ///< Divides width.
    std::uint32_t inner;
    float norm_epsilon = 1e-5F;
    friend bool operator==(const DecoderShape&, const DecoderShape&) = default;
};

/// A matrix as (inputs, outputs), and a bias.
struct DecoderLinear {
    std::span<const float> weights;
    std::span<const float> bias;
};

struct DecoderNorm {
    std::span<const float> gamma;  // (width)
    std::span<const float> beta;   // (width)
};

struct DecoderBlockWeights {
    DecoderNorm attention_norm;
    DecoderLinear attention;  // (width, 3 width): queries, keys, values
    DecoderLinear projection;
    DecoderNorm inner_norm;
    DecoderLinear expansion;    // (width, inner); then GELU, by tanh
    DecoderLinear contraction;  // (inner, width)
};

struct DecoderWeights {
    std::span<const float> tokens;     // (vocabulary, width), also the last product's
    std::span<const float> positions;  // (positions, width)
    std::vector<DecoderBlockWeights> blocks{};
    DecoderNorm last_norm;
};

/// What a GPU keeps keys and values in.
enum class KvCache : std::uint8_t {
    as_computed,
    fp8,  ///< e4m3, each key and value of a head times a power of two of its own. In bf16 and fp16 only.
};

/// How texts are continued, and their next tokens chosen.
struct TokenSampling {
    std::uint32_t max_prompt = 1;  ///< Tokens; with max_new at most DecoderShape::positions.
    std::uint32_t max_new = 1;     ///< Tokens.
    float repetition_penalty = 1;  ///< What was in the text before: scores > 0 are divided by it, others multiplied.
    float temperature = 1;         ///< Scores are divided by it; 0: the token with the largest, of several the first.
    std::uint32_t top_k = 0;       ///< Only so many largest scores count, of equal ones the first; 0: all.
    float top_p = 1;               ///< Of those the largest only, until their probabilities add up to it.
    std::optional<std::uint32_t> end{};  ///< A token that ends the text and is no part of it.
    std::uint64_t seed = 0;
    bool log_probabilities = false;
    KvCache kv_cache = KvCache::as_computed;
};

/// The beginning of an item; then max_prompt tokens, uint32, zeros after the prompt.
struct PromptStart {
    std::uint64_t number = 0;  ///< The item's in the job: its random numbers follow from that.
    std::uint32_t tokens = 0;  ///< Of the prompt, at least 1.
    std::uint32_t is_cut = 0;  ///< 1: it was longer.
};

/// The beginning of a result; then max_new tokens, uint32, zeros after the last; then, if there are
/// log_probabilities, as many fp32.
struct ContinuationStart {
    std::uint32_t tokens = 0;
    std::uint32_t prompt = 0;     ///< Tokens.
    std::uint32_t has_end = 0;    ///< 1: ended by TokenSampling::end.
    std::uint32_t nonfinite = 0;  ///< 1: among the scores that a token was chosen by is a NaN or an infinity.
};

[[nodiscard]] constexpr IoShape decoder_io(const TokenSampling& sampling) {
    constexpr std::uint32_t token_bytes = sizeof(std::uint32_t);
    const std::uint32_t padded_prompt = (sampling.max_prompt + 1) / 2 * 2;
    return {static_cast<std::uint32_t>(sizeof(PromptStart)) + padded_prompt * token_bytes,
            static_cast<std::uint32_t>(sizeof(ContinuationStart)) +
                sampling.max_new * token_bytes * (sampling.log_probabilities ? 2 : 1)};
}

/// Continues prompts. In: items; out: results. Of the scores s of a text's last token, with what sampling makes of
/// them, p = softmax(s / temperature); the token is the first i with p[0] + … + p[i] > u, summed in fp32 in that order,
/// where u in [0, 1) is the item's own random number for it. Its log-probability is that by softmax(s).
///
/// A score that is NaN counts as -infinity, with sampling or without. Where the largest score is infinite, as where all
/// are NaN, the token is the first that has it, without a draw; so it is token 0 where no score is more than -infinity.
/// A log-probability is the NaN 0x7FC00000 where a score is NaN or the largest is infinite.
///
/// On GPUs it tells how close texts came to others: a TextDoubt of each item, or max_new ChoiceDoubts, of which those
/// behind the end of a text are open.
class Decoder : public TextWriter {};

class DecoderLayer {
public:
    DecoderLayer() = default;
    DecoderLayer(const DecoderLayer&) = delete;
    DecoderLayer& operator=(const DecoderLayer&) = delete;
    virtual ~DecoderLayer() = default;

    /// Takes at most `device_bytes`, and at least least_bytes(). Thread-safe; once the weights are packed. The layer
    /// and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Decoder> make_decoder(Device& device, std::uint32_t max_items,
                                                                std::uint64_t device_bytes) const = 0;

    /// That the operation takes of the device's memory at least.
    [[nodiscard]] virtual std::uint64_t least_bytes(std::uint32_t max_items) const = 0;

    /// That make_decoder() with the same arguments takes.
    [[nodiscard]] virtual std::uint64_t bytes(std::uint32_t max_items, std::uint64_t device_bytes) const = 0;
};

class DecoderKernels {
public:
    DecoderKernels() = default;
    DecoderKernels(const DecoderKernels&) = delete;
    DecoderKernels& operator=(const DecoderKernels&) = delete;
    virtual ~DecoderKernels() = default;

    /// `weights` stay the caller's until `packed` is packed.
    [[nodiscard]] virtual std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape,
                                                                const DecoderWeights& weights,
                                                                const TokenSampling& sampling,
                                                                PackedWeights& packed) const = 0;
};

}  // namespace sluice
