#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/chunk.hpp"

namespace sluice {

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

}  // namespace sluice
