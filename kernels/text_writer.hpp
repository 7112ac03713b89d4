#pragma once

#include <cstdint>

#include "kernels/operation.hpp"
#include "kernels/text_counts.hpp"
#include "kernels/text_doubt.hpp"

namespace sluice {

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
