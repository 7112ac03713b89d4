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
    gelu_tanh,  ///< Hendrycks, Gimpel 2016, tanh approximation.
    gelu_erf,   ///< The same, exact, by erf.
    silu,       ///< x / (1 + e^-x).
};

/// Scaling of rotary frequencies for texts longer than those of the original training: frequencies whose wavelength
/// exceeds original_positions / low_frequency are divided by `factor`; those below original_positions / high_frequency
/// are kept; in between they are interpolated. "The Llama 3 Herd of Models", 2024, and its code.
struct RotaryStretch {
    float factor = 1;  ///< 1: no scaling.
    float low_frequency = 1;
    float high_frequency = 4;  ///< Greater than low_frequency.
    float original_positions = 8192;
    friend bool operator==(const RotaryStretch&, const RotaryStretch&) = default;
};

/// Rotary position embeddings: values i and i + size / 2 of each head of queries and keys at position p, taken as a
/// complex number, are rotated by the angle p base^(-2 i / size). Su et al. 2021, "RoFormer"; paired like Hugging
/// Face's Llama.
struct RotaryPositions {
    float base = 10000;
    RotaryStretch stretch{};
    friend bool operator==(const RotaryPositions&, const RotaryPositions&) = default;
};

/// A decoder-only transformer: token embeddings; blocks of causal self-attention and a feed-forward layer of `inner`
/// units, each with pre-normalisation and a residual; a final normalisation; a head, tied to the token embeddings or
/// with a matrix of its own. The defaults are GPT-2's: Radford et al. 2019, "Language Models are Unsupervised Multitask
/// Learners". With RMS normalisation, SiLU, gates and rotary positions Llama: Touvron et al. 2023, "LLaMA: Open and
/// Efficient Foundation Language Models".
struct DecoderShape {
    std::uint32_t vocabulary;
    std::uint32_t positions;
    std::uint32_t width;
    std::uint32_t layers;
    std::uint32_t heads;  ///< Divides width unless head_size is set.
    std::uint32_t inner;
    float norm_epsilon = 1e-5F;
    std::uint32_t head_size = 0;  ///< 0: width / heads. Even with rotary positions.
    std::uint32_t key_heads = 0;  ///< Heads of keys and values, each shared by heads / key_heads query heads (grouped
                                  ///< queries, Ainslie et al. 2023); 0: as many as heads.
    DecoderNormalisation normalisation = DecoderNormalisation::layer;
    DecoderActivation activation = DecoderActivation::gelu_tanh;
    bool gated = false;  ///< The expansion has two halves: activation(first) * second. Shazeer 2020.
    std::optional<RotaryPositions> rotary{};  ///< nullopt: learned position embeddings.
    friend bool operator==(const DecoderShape&, const DecoderShape&) = default;

    [[nodiscard]] constexpr std::uint32_t size_of_head() const { return head_size == 0 ? width / heads : head_size; }
    [[nodiscard]] constexpr std::uint32_t heads_of_keys() const { return key_heads == 0 ? heads : key_heads; }
    /// Width of all heads' queries.
    [[nodiscard]] constexpr std::uint32_t query_width() const { return heads * size_of_head(); }
    /// Width of all heads' keys, and of their values.
    [[nodiscard]] constexpr std::uint32_t key_width() const { return heads_of_keys() * size_of_head(); }
    /// Width of queries, keys and values together.
    [[nodiscard]] constexpr std::uint32_t attention_width() const { return query_width() + 2 * key_width(); }
    /// Output width of the expansion.
    [[nodiscard]] constexpr std::uint32_t expanded_width() const { return gated ? 2 * inner : inner; }
};

/// Storage order of a matrix.
enum class MatrixOrder : std::uint8_t {
    by_inputs,   ///< (inputs, outputs)
    by_outputs,  ///< (outputs, inputs)
};

/// A linear layer; an empty span means no bias.
struct DecoderLinear {
    std::span<const float> weights;
    std::span<const float> bias{};
    MatrixOrder order = MatrixOrder::by_inputs;
};

struct DecoderNorm {
    std::span<const float> gamma;   // (width)
    std::span<const float> beta{};  // (width); empty: none
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
    std::span<const float> tokens;     // (vocabulary, width); also the head's weights if `head` is empty
    std::span<const float> positions;  // (positions, width); empty with rotary positions
    std::vector<DecoderBlockWeights> blocks{};
    DecoderNorm last_norm;
    std::span<const float> head{};  // (vocabulary, width); empty: tied to `tokens`
};

/// Element type of a GPU's KV cache.
enum class KvCache : std::uint8_t {
    as_computed,
    // One byte per value, with a scale for each key and each value vector of a head; in bf16 and fp16 only.
    fp8,   ///< e4m3, scaled by a power of two.
    int8,  ///< -127 to 127, scaled by a bf16.
};
/// Words of the job file.
inline constexpr std::array<std::string_view, 3> kv_cache_names{"auto", "fp8", "int8"};
[[nodiscard]] constexpr std::string_view name_of(KvCache cache) {
    return kv_cache_names[std::size_t(cache)];
}

/// How texts are continued and tokens are chosen.
struct TokenSampling {
    std::uint32_t max_prompt = 1;  ///< Tokens; with max_new at most DecoderShape::positions.
    std::uint32_t max_new = 1;     ///< Tokens.
    float repetition_penalty = 1;  ///< Divides scores > 0 of tokens already in the text, multiplies their other scores.
    float temperature = 1;         ///< Divides scores; 0: greedy, the first token with the largest score.
    std::uint32_t top_k = 0;       ///< Keeps the k largest scores, of equal ones the first; 0: all.
    float top_p = 1;               ///< Of these, keeps the fewest likeliest whose probabilities add up to it.
    std::optional<std::uint32_t> end{};  ///< Token that ends the text and is not part of it.
    std::uint64_t seed = 0;
    bool log_probabilities = false;
    KvCache kv_cache = KvCache::as_computed;
};

/// Weight of the likeliest token in a draw.
inline constexpr float token_weight_unit = 0x1p40F;

/// Header of an item; followed by max_prompt tokens, uint32, zeros after the prompt.
struct PromptStart {
    std::uint64_t number = 0;  ///< Item number in the job, which determines its random numbers.
    std::uint32_t tokens = 0;  ///< Tokens of the prompt, at least 1.
    std::uint32_t is_cut = 0;  ///< 1: the prompt was longer.
};

/// Header of a result; followed by max_new tokens, uint32, zeros after the last; then, with log_probabilities, by as
/// many fp32.
struct ContinuationStart {
    std::uint32_t tokens = 0;
    std::uint32_t prompt = 0;     ///< Tokens of the prompt.
    std::uint32_t has_end = 0;    ///< 1: ended by TokenSampling::end.
    std::uint32_t nonfinite = 0;  ///< 1: a token was chosen from scores that include a NaN or an infinity.
};

[[nodiscard]] constexpr IoShape decoder_io(const TokenSampling& sampling) {
    constexpr std::uint32_t token_bytes = sizeof(std::uint32_t);
    const std::uint32_t padded_prompt = (sampling.max_prompt + 1) / 2 * 2;
    return {static_cast<std::uint32_t>(sizeof(PromptStart)) + padded_prompt * token_bytes,
            static_cast<std::uint32_t>(sizeof(ContinuationStart)) +
                sampling.max_new * token_bytes * (sampling.log_probabilities ? 2 : 1)};
}

/// Continues prompts. In: items; out: results. Given the scores s that follow a text, after penalty, top_k and top_p,
/// let w[i] = floor(token_weight_unit * exp((s[i] - max(s)) / temperature)). The next token is the first i with w[0] +
/// … + w[i] > floor(u * sum(w)), where u in [0, 1) is a random number of the item and the token. Sums of integers do
/// not depend on their order. The token's log-probability is that of softmax(s) of the unmodified scores.
///
/// A NaN score counts as -infinity, greedy or drawn. If the largest score is infinite, which includes all scores being
/// NaN, the token is the first that has it, without a draw; so it is token 0 if no score exceeds -infinity. A
/// log-probability is the NaN 0x7FC00000 if a score is NaN or the largest is infinite.
///
/// GPUs also report how narrowly choices were decided: a TextDoubt per item, or max_new ChoiceDoubts per item, which
/// are unspecified after the end of a text.
class Decoder : public TextWriter {
public:
    /// Makes a checker of drafts that uses this decoder's network, sampling and memory, so not while the decoder
    /// continues prompts. The decoder outlives the checker. Null if this kind of decoder cannot check drafts.
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

    /// Makes a decoder that uses at most `device_bytes` of device memory, which is at least least_bytes(). Call once
    /// the weights are packed. Thread-safe. The layer and the weights outlive the decoder.
    [[nodiscard]] virtual std::unique_ptr<Decoder> make_decoder(Device& device, std::uint32_t max_items,
                                                                std::uint64_t device_bytes) const = 0;

    /// Minimum device memory that a decoder needs.
    [[nodiscard]] virtual std::uint64_t least_bytes(std::uint32_t max_items) const = 0;

    /// Device memory that make_decoder() with the same arguments uses.
    [[nodiscard]] virtual std::uint64_t bytes(std::uint32_t max_items, std::uint64_t device_bytes) const = 0;
};

class DecoderKernels {
public:
    DecoderKernels() = default;
    DecoderKernels(const DecoderKernels&) = delete;
    DecoderKernels& operator=(const DecoderKernels&) = delete;
    virtual ~DecoderKernels() = default;

    /// `weights` belong to the caller and must stay alive until `packed` is packed.
    [[nodiscard]] virtual std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape,
                                                                const DecoderWeights& weights,
                                                                const TokenSampling& sampling,
                                                                PackedWeights& packed) const = 0;
};

}  // namespace sluice
