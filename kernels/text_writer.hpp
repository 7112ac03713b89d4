#pragma once

#include <cstdint>
#include <limits>

#include "kernels/operation.hpp"

namespace sluice {

/// How close a text came to being another, the least over its choices; infinite where nothing could have been.
struct TextDoubt {
    static constexpr float none = std::numeric_limits<float>::infinity();

    float distance = none;  ///< Of a draw to the sum of probabilities at which another byte or token begins.
    float gap = none;       ///< Of a score that counts, with temperature 0, top_k or top_p, to one that does not.

    friend bool operator==(const TextDoubt&, const TextDoubt&) = default;
};

/// What is no number is less than all that are.
[[nodiscard]] constexpr TextDoubt least(const TextDoubt& a, const TextDoubt& b) {
    return {.distance = a.distance <= b.distance || a.distance != a.distance ? a.distance : b.distance,
            .gap = a.gap <= b.gap || a.gap != a.gap ? a.gap : b.gap};
}

/// The same of one choice.
struct ChoiceDoubt {
    TextDoubt doubt{};
    std::uint32_t kept = 0;  ///< Differs, but for chance, where a choice was among other tokens.
};

/// In all that is done: wait for what was enqueued first.
struct TextCounts {
    std::uint64_t texts = 0;
    std::uint64_t prompt_tokens = 0;
    std::uint64_t new_tokens = 0;  ///< Of a generator, bytes that were chosen, without prefixes and ends.
    std::uint64_t ended = 0;       ///< Texts that have ended before they were as long as they may be.
    std::uint64_t cut = 0;         ///< Prompts that were cut.
};

[[nodiscard]] constexpr TextCounts operator+(const TextCounts& a, const TextCounts& b) {
    return {.texts = a.texts + b.texts,
            .prompt_tokens = a.prompt_tokens + b.prompt_tokens,
            .new_tokens = a.new_tokens + b.new_tokens,
            .ended = a.ended + b.ended,
            .cut = a.cut + b.cut};
}
[[nodiscard]] constexpr TextCounts operator-(const TextCounts& a, const TextCounts& b) {
    return {.texts = a.texts - b.texts,
            .prompt_tokens = a.prompt_tokens - b.prompt_tokens,
            .new_tokens = a.new_tokens - b.new_tokens,
            .ended = a.ended - b.ended,
            .cut = a.cut - b.cut};
}

/// Checks texts that a faster writer has drafted. Each choice that came closer to another than the bounds is made
/// again, behind the draft's choices before it; the draft's other choices are taken for granted.
///
/// In: the items; their drafts, as results of the same form; how close each choice came, ChoiceDoubts (items, most
/// choices). Out: a TextDoubt for each item: infinite where there was nothing to check; where all choices that were
/// made again are the draft's, how close those came; and where one is not, or there are too many to be worth checking,
/// or the draft is nonfinite, less than any bound. Items that are not active are left alone. Used by one driver.
class TextChecker : public Operation {
public:
    /// Infinite at first: every choice is checked that could be another. Has arrived when this returns.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    /// Texts some of whose choices were made again, in all that is done.
    [[nodiscard]] virtual std::uint64_t checked() const = 0;
};

/// That a checker takes of the device's memory.
[[nodiscard]] constexpr std::uint64_t text_checker_bytes(std::uint32_t max_items) {
    constexpr std::uint64_t of_item = 2 * sizeof(std::uint32_t);
    return sizeof(TextDoubt) + max_items * of_item;
}

/// Writes texts. In: items; out: results, and how close they came to others, where that is given, too.
class TextWriter : public Operation {
public:
    [[nodiscard]] virtual TextCounts counts() const = 0;
};

}  // namespace sluice
