#pragma once

#include <cstdint>
#include <limits>

#include "kernels/operation.hpp"

namespace sluice {

/// How narrowly a text's choices were decided, the minimum over its choices; infinite if none had an alternative.
struct TextDoubt {
    static constexpr float none = std::numeric_limits<float>::infinity();

    float distance = none;  ///< From a draw to the cumulative probability at which another byte or token begins.
    float gap = none;       ///< With temperature 0, top_k or top_p: from a score that is kept to one that is not.

    friend bool operator==(const TextDoubt&, const TextDoubt&) = default;
};

/// Minimum of each measure; a NaN is less than any number.
[[nodiscard]] constexpr TextDoubt least(const TextDoubt& a, const TextDoubt& b) {
    return {.distance = a.distance <= b.distance || a.distance != a.distance ? a.distance : b.distance,
            .gap = a.gap <= b.gap || a.gap != a.gap ? a.gap : b.gap};
}

/// The same for one choice.
struct ChoiceDoubt {
    TextDoubt doubt{};
    std::uint32_t kept = 0;  ///< Hash of the set of tokens that the choice was among.
};

/// Totals of all completed work; read once the enqueued work is done.
struct TextCounts {
    std::uint64_t texts = 0;
    std::uint64_t prompt_tokens = 0;
    std::uint64_t new_tokens = 0;  ///< For a generator: chosen bytes, without prefixes and ends.
    std::uint64_t ended = 0;       ///< Texts that ended before their maximum length.
    std::uint64_t cut = 0;         ///< Truncated prompts.
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

/// Checks texts that a faster writer has drafted. Each choice whose doubt is below the bounds is repeated, given the
/// draft's choices before it; the draft's other choices are accepted.
///
/// In: the items; their drafts, as results of the same form; each choice's ChoiceDoubt, (items, max choices). Out: a
/// TextDoubt for each item: infinite if nothing was to be checked; if all repeated choices are the draft's, their
/// doubt; if one differs, there are too many to be worth checking, or the draft is nonfinite, less than any bound.
/// Nothing is written for inactive items. Used by one driver.
class TextChecker : public Operation {
public:
    /// Initially infinite: every choice that had an alternative is checked. Blocks until copied.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    /// Texts with repeated choices. Call once the enqueued work is done.
    [[nodiscard]] virtual std::uint64_t checked() const = 0;
};

/// Device memory, in bytes, that a checker needs.
[[nodiscard]] constexpr std::uint64_t text_checker_bytes(std::uint32_t max_items) {
    constexpr std::uint64_t of_item = 2 * sizeof(std::uint32_t);
    return sizeof(TextDoubt) + max_items * of_item;
}

/// Writes texts. In: items; out: results and, if a second output is given, their doubts.
class TextWriter : public Operation {
public:
    [[nodiscard]] virtual TextCounts counts() const = 0;
};

}  // namespace sluice
