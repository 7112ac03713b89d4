#pragma once

#include <cstdint>
#include <variant>

#include "kernels/decoder.hpp"
#include "kernels/generator.hpp"

namespace sluice {

/// Whose texts.
struct GeneratorTexts {
    std::uint32_t max_length;  ///< Sampling::max_length
    [[nodiscard]] IoShape io() const { return generator_io(max_length); }
};
struct DecoderTexts {
    TokenSampling sampling;
    [[nodiscard]] IoShape io() const { return decoder_io(sampling); }
};
using TextForm = std::variant<GeneratorTexts, DecoderTexts>;

[[nodiscard]] inline IoShape io_of(const TextForm& form) {
    return std::visit([](const auto& texts) { return texts.io(); }, form);
}

struct TextCertifierShape {
    TextForm form;
    std::uint32_t max_items;  ///< In a chunk.
    std::uint32_t batch;      ///< Items that the exact writer computes at a time; it was made for as many.
};

/// Makes a fast writer's texts those of an exact one: where one came too close to another, the exact one writes it
/// again. All of it happens on the device; the host does not wait to hear how many those are. Used by one driver.
///
/// In: the items; their TextDoubts. Out: their results, the fast writer's at first. Items that are not active are left
/// alone.
class TextCertifier : public Operation {
public:
    /// kernels/doubt_bounds.hpp says what they are. Infinite at first: nothing is certain that could be another. Has
    /// arrived when this returns.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    /// Texts that were written again, in all that is done: wait for what was enqueued first.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;

    /// What the fast writer has counted of those, which the exact one counts anew.
    [[nodiscard]] virtual TextCounts retracted() const = 0;
};

/// That a certifier takes of the device's memory.
[[nodiscard]] inline std::uint64_t text_certifier_bytes(const TextCertifierShape& shape) {
    const IoShape io = io_of(shape.form);
    constexpr std::uint64_t of_item = sizeof(std::uint32_t);
    return shape.max_items * of_item + std::uint64_t{shape.batch} * (io.input_bytes + io.output_bytes);
}

}  // namespace sluice
