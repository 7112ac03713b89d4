#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/chunk.hpp"
#include "core/modes.hpp"
#include "kernels/text_counts.hpp"

namespace sluice {

/// Element type of a GPU's KV cache.
enum class KvCache : std::uint8_t {
    as_computed,
    // One byte per value, with a scale for each key and each value vector of a head; in bf16, fp16 and fp8 only.
    fp8,   ///< e4m3, scaled by a power of two.
    int8,  ///< -127 to 127, scaled by a bf16.
};
/// Words of the job file.
template <>
inline constexpr std::array<std::string_view, 3> words_of<KvCache>{"auto", "fp8", "int8"};

/// Tokens of which each ends a text.
class EndTokens {
public:
    static constexpr std::size_t most = 8;

    constexpr EndTokens() noexcept { tokens_.fill(none); }
    constexpr EndTokens(std::uint32_t token) noexcept  // NOLINT(google-explicit-constructor): one is the common case
        : EndTokens() {
        tokens_[0] = token;
    }
    /// At most `most`.
    constexpr explicit EndTokens(std::span<const std::uint32_t> tokens) : EndTokens() {
        std::ranges::copy(tokens, tokens_.begin());
    }

    /// `token` is one of a vocabulary.
    [[nodiscard]] constexpr bool contains(std::uint32_t token) const noexcept {
        bool found = false;
        for (std::size_t i = 0; i < most; ++i) {
            found = found || tokens_[i] == token;
        }
        return found;
    }

    [[nodiscard]] constexpr std::span<const std::uint32_t> tokens() const noexcept {
        return std::span(tokens_).first(static_cast<std::size_t>(std::ranges::find(tokens_, none) - tokens_.begin()));
    }

    friend constexpr bool operator==(const EndTokens&, const EndTokens&) = default;

private:
    static constexpr std::uint32_t none = UINT32_MAX;  // of no vocabulary

    std::array<std::uint32_t, most> tokens_{};
};

/// How texts are continued and tokens are chosen.
struct TokenSampling {
    std::uint32_t max_prompt = 1;  ///< Tokens; with max_new at most DecoderShape::positions.
    std::uint32_t max_new = 1;     ///< Tokens.
    float repetition_penalty = 1;  ///< Divides scores > 0 of tokens already in the text, multiplies their other scores.
    float temperature = 1;         ///< Divides scores; 0: greedy, the first token with the largest score.
    std::uint32_t top_k = 0;       ///< Keeps the k largest scores, of equal ones the first; 0: all.
    float top_p = 1;               ///< Of these, keeps the fewest likeliest whose probabilities add up to it.
    EndTokens end{};               ///< Tokens that end the text and are not part of it.
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

/// What a continuation adds to its writer's counts.
[[nodiscard]] constexpr TextCounts counts_of(const PromptStart& item, const ContinuationStart& result) {
    return {.texts = 1,
            .prompt_tokens = result.prompt,
            .new_tokens = result.tokens,
            .ended = result.has_end != 0 ? 1U : 0U,
            .cut = item.is_cut != 0 ? 1U : 0U};
}

}  // namespace sluice
