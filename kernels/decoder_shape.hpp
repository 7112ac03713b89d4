#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/modes.hpp"

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

/// Which positions of its text a token attends to.
enum class AttentionMask : std::uint8_t {
    causal,  ///< Those up to its own.
    prefix,  ///< A prompt's tokens to the whole prompt, new ones to those up to their own: a prefix language model,
             ///< whose prompt is encoded in both directions. Raffel et al. 2020 ("T5"), section 3.2.1.
};
template <>
inline constexpr std::array<std::string_view, 2> words_of<AttentionMask>{"causal", "prefix"};

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

/// A decoder-only transformer: token embeddings; blocks of self-attention and a feed-forward layer of `inner` units,
/// each with pre-normalisation and a residual; a final normalisation; a head, tied to the token embeddings or with a
/// matrix of its own. The defaults are GPT-2's: Radford et al. 2019, "Language Models are Unsupervised Multitask
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
    AttentionMask mask = AttentionMask::causal;
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

}  // namespace sluice
