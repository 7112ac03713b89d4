#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/packed_weights.hpp"
#include "kernels/text_writer.hpp"

namespace sluice {

enum class DecoderNormalisation : std::uint8_t {
    layer,  ///< Ba, Kiros, Hinton 2016.
    rms,    ///< x / sqrt(mean of x^2 + epsilon) * gamma. Zhang, Sennrich 2019.
};

enum class DecoderActivation : std::uint8_t {
    gelu_tanh,  ///< Hendrycks, Gimpel 2016, by tanh.
    gelu_erf,   ///< The same by erf.
    silu,       ///< x / (1 + e^-x).
};

/// Frequencies of rotary positions, stretched for texts longer than those of a first training: those whose waves are
/// longer than original_positions / low_frequency are divided by `factor`; shorter than original_positions /
/// high_frequency not at all; in between by shares. "The Llama 3 Herd of Models", 2024, and its code.
struct RotaryStretch {
    float factor = 1;  ///< 1: not at all.
    float low_frequency = 1;
    float high_frequency = 4;  ///< More than low_frequency.
    float original_positions = 8192;
    friend bool operator==(const RotaryStretch&, const RotaryStretch&) = default;
};

/// Each head's queries and keys are turned by their position p: of values i and i + size / 2 of a head, as one complex
/// number, by the angle p base^(-2 i / size). Su et al. 2021, "RoFormer"; pairs as Hugging Face's Llama has them.
struct RotaryPositions {
    float base = 10000;
    RotaryStretch stretch{};
    friend bool operator==(const RotaryPositions&, const RotaryPositions&) = default;
};

/// A transformer that reads tokens and scores each that may come next: token embeddings; blocks of causal
/// self-attention and a layer of `inner` units, each behind a normalisation and beside a residual; a last
/// normalisation; the product with the token embeddings, or a matrix of its own. As it stands GPT-2: Radford et al.
/// 2019, "Language Models are Unsupervised Multitask Learners". With RMS normalisation, SiLU, gates and rotary
/// positions Llama: Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models".
struct DecoderShape {
    std::uint32_t vocabulary;
    std::uint32_t positions;
    std::uint32_t width;
    std::uint32_t layers;
    std::uint32_t heads;  ///< Divides width, unless head_size says otherwise.
    std::uint32_t inner;
    float norm_epsilon = 1e-5F;
    std::uint32_t head_size = 0;  ///< 0: width / heads. Even with rotary positions.
    std::uint32_t key_heads = 0;  ///< Heads of keys and values, each for heads / key_heads of queries (Ainslie et al.
                                  ///< 2023); 0: as many as heads.
    DecoderNormalisation normalisation = DecoderNormalisation::layer;
    DecoderActivation activation = DecoderActivation::gelu_tanh;
    bool gated = false;  ///< The expansion is two, and what follows activation(first) * second. Shazeer 2020.
    std::optional<RotaryPositions> rotary{};  ///< None: embeddings of positions are added to those of tokens.
    friend bool operator==(const DecoderShape&, const DecoderShape&) = default;

    [[nodiscard]] constexpr std::uint32_t size_of_head() const { return head_size == 0 ? width / heads : head_size; }
    [[nodiscard]] constexpr std::uint32_t heads_of_keys() const { return key_heads == 0 ? heads : key_heads; }
    /// Of all heads' queries.
    [[nodiscard]] constexpr std::uint32_t query_width() const { return heads * size_of_head(); }
    /// Of all heads' keys, or values.
    [[nodiscard]] constexpr std::uint32_t key_width() const { return heads_of_keys() * size_of_head(); }
    /// Of queries, keys and values.
    [[nodiscard]] constexpr std::uint32_t attention_width() const { return query_width() + 2 * key_width(); }
    /// Of what the expansion gives.
    [[nodiscard]] constexpr std::uint32_t expanded_width() const { return gated ? 2 * inner : inner; }
};

/// What lies side by side in a matrix.
enum class MatrixOrder : std::uint8_t {
    by_inputs,   ///< (inputs, outputs)
    by_outputs,  ///< (outputs, inputs)
};

/// A matrix, and a bias of its outputs; without one the span is empty.
struct DecoderLinear {
    std::span<const float> weights;
    std::span<const float> bias{};
    MatrixOrder order = MatrixOrder::by_inputs;
};

struct DecoderNorm {
    std::span<const float> gamma;   // (width)
    std::span<const float> beta{};  // (width); none if empty
};

struct DecoderBlockWeights {
    DecoderNorm attention_norm;
    DecoderLinear attention;   // width to queries, keys, values
    DecoderLinear projection;  // queries' width to width
    DecoderNorm inner_norm;
    DecoderLinear expansion;    // width to inner; gated: to the gates, then to what they multiply
    DecoderLinear contraction;  // inner to width
};

struct DecoderWeights {
    std::span<const float> tokens;     // (vocabulary, width), also the last product's if that has no own ones
    std::span<const float> positions;  // (positions, width); empty if they are rotary
    std::vector<DecoderBlockWeights> blocks{};
    DecoderNorm last_norm;
    std::span<const float> head{};  // (vocabulary, width) of the last product; empty: the tokens'
};

/// What a GPU keeps keys and values in.
enum class KvCache : std::uint8_t {
    as_computed,
    // One byte, each key and value of a head with a scale of its own; in bf16 and fp16 only.
    fp8,   ///< e4m3, times a power of two.
    int8,  ///< -127 to 127, times a bf16.
};
/// As a job names them.
inline constexpr std::array<std::string_view, 3> kv_cache_names{"auto", "fp8", "int8"};
[[nodiscard]] constexpr std::string_view name_of(KvCache cache) {
    return kv_cache_names[std::size_t(cache)];
}

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

/// Units in the weight of the likeliest token.
inline constexpr float token_weight_unit = 0x1p40F;

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
/// them, w[i] = exp((s[i] - max(s)) / temperature), a whole number of token_weight_unit, rounded down; the token is the
/// first i with w[0] + … + w[i] > u * sum(w), rounded down, where u in [0, 1) is the item's own random number for it.
/// Sums of whole numbers do not depend on their order. The token's log-probability is that by softmax(s).
///
/// A score that is NaN counts as -infinity, with sampling or without. Where the largest score is infinite, as where all
/// are NaN, the token is the first that has it, without a draw; so it is token 0 where no score is more than -infinity.
/// A log-probability is the NaN 0x7FC00000 where a score is NaN or the largest is infinite.
///
/// On GPUs it tells how close texts came to others: a TextDoubt of each item, or max_new ChoiceDoubts, of which those
/// behind the end of a text are open.
class Decoder : public TextWriter {
public:
    /// Checks drafts with this decoder's network and sampling, in its memory: not while it continues prompts. The
    /// decoder outlives the checker. Null: decoders of this kind check none.
    [[nodiscard]] virtual std::unique_ptr<TextChecker> make_checker(Device& device, std::uint32_t max_items) {
        static_cast<void>(device);
        static_cast<void>(max_items);
        return nullptr;
    }
};

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
