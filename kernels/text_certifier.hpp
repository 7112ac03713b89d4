#pragma once

#include <cstdint>
#include <variant>

#include "kernels/decoder.hpp"
#include "kernels/generator.hpp"

namespace sluice {

// Kinds of texts that can be certified.

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
    std::uint32_t most_items;  ///< In a chunk.
    std::uint32_t batch;       ///< Items that the exact writer computes at a time: its maximum.
};

/// Replaces the uncertain texts of a fast writer by those of an exact one, which recomputes them. Everything happens on
/// the device, without a host round trip for their number. Used by one driver.
///
/// In: the items; their TextDoubts. In and out: their results, initially the fast writer's; those of inactive items
/// are unchanged.
class TextCertifier : public Operation {
public:
    /// As defined in kernels/doubt_bounds.hpp; initially infinite: a text is certain only if its doubt is, too. Blocks
    /// until copied.
    virtual void set_bounds(const TextDoubt& bounds) = 0;

    /// Texts that were recomputed. Call once the enqueued work is done.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;

    /// The fast writer's counts of the recomputed texts, which the exact writer counts again.
    [[nodiscard]] virtual TextCounts retracted() const = 0;
};

/// Device memory, in bytes, that a certifier needs.
[[nodiscard]] inline std::uint64_t text_certifier_bytes(const TextCertifierShape& shape) {
    const IoShape io = io_of(shape.form);
    constexpr std::uint64_t of_item = sizeof(std::uint32_t);
    return shape.most_items * of_item + std::uint64_t{shape.batch} * (io.input_bytes + io.output_bytes);
}

}  // namespace sluice
