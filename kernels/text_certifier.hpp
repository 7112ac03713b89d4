#pragma once

#include <cstdint>

#include "kernels/generator.hpp"

namespace sluice {

struct TextCertifierShape {
    std::uint32_t max_length;
    std::uint32_t max_items;  ///< In a chunk.
    std::uint32_t batch;      ///< Items that the exact generator computes at a time; it was made for as many.
};

/// Makes a fast generator's texts those of an exact one: where one came too close to another, the exact generator
/// writes it again. All of it happens on the device; the host does not wait to hear how many those are. Used by one
/// driver.
///
/// In: the items; their TextDoubts. Out: their results, the fast generator's at first. Items that are not active are
/// left alone.
class TextCertifier : public Operation {
public:
    /// kernels/doubt_bounds.hpp says what they are. Infinite at first: nothing is certain that could be another. Has
    /// arrived when this returns.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    /// Texts that were written again, in all that is done: wait for what was enqueued first.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;

    /// What the fast generator has counted of those, which the exact one counts anew.
    [[nodiscard]] virtual GeneratorCounts retracted() const = 0;
};

}  // namespace sluice
