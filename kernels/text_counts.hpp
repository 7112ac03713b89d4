#pragma once

#include <cstdint>

namespace sluice {

/// Totals of all completed work; read once the enqueued work is done.
struct TextCounts {
    std::uint64_t texts = 0;
    std::uint64_t prompt_tokens = 0;
    std::uint64_t new_tokens = 0;  ///< For a generator: chosen bytes, without prefixes and ends.
    std::uint64_t ended = 0;       ///< Texts that ended before their maximum length.
    std::uint64_t cut = 0;         ///< Truncated prompts.
    std::uint64_t shared = 0;      ///< Tokens of prompts that were not computed, as other prompts begin with them, too.
};

[[nodiscard]] constexpr TextCounts operator+(const TextCounts& a, const TextCounts& b) {
    return {.texts = a.texts + b.texts,
            .prompt_tokens = a.prompt_tokens + b.prompt_tokens,
            .new_tokens = a.new_tokens + b.new_tokens,
            .ended = a.ended + b.ended,
            .cut = a.cut + b.cut,
            .shared = a.shared + b.shared};
}
[[nodiscard]] constexpr TextCounts operator-(const TextCounts& a, const TextCounts& b) {
    return {.texts = a.texts - b.texts,
            .prompt_tokens = a.prompt_tokens - b.prompt_tokens,
            .new_tokens = a.new_tokens - b.new_tokens,
            .ended = a.ended - b.ended,
            .cut = a.cut - b.cut,
            .shared = a.shared - b.shared};
}

}  // namespace sluice
