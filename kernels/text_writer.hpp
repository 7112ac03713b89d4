#pragma once

#include <cstdint>

#include "kernels/operation.hpp"
#include "kernels/text_counts.hpp"
#include "kernels/text_doubt.hpp"

namespace sluice {

/// Checks texts that a faster writer has drafted. Each choice whose doubt is below the bounds is repeated, given the
/// draft's choices before it; the draft's other choices are accepted. From the first repeated choice on that is
/// another one, the checker writes the text.
///
/// In: the items; each choice's ChoiceDoubt, (items, max choices). Out: results of the same form, initially the drafts;
/// a TextDoubt for each item: the least of the checker's choices, infinite if it made none, and less than any bound of
/// a draft that is nonfinite, has too many doubtful choices to be worth checking, or has scores that are not finite
/// where one is repeated. Nothing is written for inactive items. Used by one driver.
class TextChecker : public Operation {
public:
    /// Initially infinite: every choice that had an alternative is checked. Blocks until copied.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    // Totals; call once the enqueued work is done.

    /// Texts with repeated choices, but those with one whose scores are not finite.
    [[nodiscard]] virtual std::uint64_t checked() const = 0;
    /// Of those, the ones that the checker has continued.
    [[nodiscard]] virtual std::uint64_t corrected() const = 0;
};

/// Device memory, in bytes, that a checker needs.
[[nodiscard]] constexpr std::uint64_t text_checker_bytes(std::uint32_t most_items) {
    constexpr std::uint64_t of_item = 2 * sizeof(std::uint32_t);
    return sizeof(TextDoubt) + most_items * of_item;
}

/// Writes texts. In: items; out: results and, if a second output is given, their doubts.
class TextWriter : public Operation {
public:
    [[nodiscard]] virtual TextCounts counts() const = 0;
};

}  // namespace sluice
