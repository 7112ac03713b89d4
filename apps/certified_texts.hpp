#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device.hpp"
#include "kernels/certifier.hpp"
#include "kernels/doubt_bounds.hpp"
#include "kernels/text_certifier.hpp"

namespace sluice {

/// Writes an exact writer's texts at nearly the speed of a fast one: the fast one writes all, the exact one again those
/// that came too close to another. The exact one may be certified itself. Doubts are the fast one's, log-probabilities
/// those of the writer that wrote the text.
class CertifiedTexts final : public TextWriter {
public:
    /// `fast` was made for shape.max_items, `exact` for shape.batch, both on `device`.
    CertifiedTexts(const CertifierKernels& kernels, Device& device, const TextCertifierShape& shape,
                   std::unique_ptr<TextWriter> fast, std::unique_ptr<TextWriter> exact);

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override;
    [[nodiscard]] TextCounts counts() const override;

    /// Until then nothing is certain.
    void set_bounds(const TextDoubt& bounds);
    [[nodiscard]] const TextDoubt& bounds() const noexcept { return bounds_; }

    /// Texts that the exact one has written, in all that is done.
    [[nodiscard]] std::uint64_t recomputed() const { return certifier_->recomputed(); }

    [[nodiscard]] TextWriter& fast() const noexcept { return *fast_; }
    [[nodiscard]] TextWriter& exact() const noexcept { return *exact_; }
    [[nodiscard]] const TextCertifierShape& shape() const noexcept { return shape_; }

private:
    TextCertifierShape shape_;
    std::unique_ptr<TextWriter> fast_;
    std::unique_ptr<TextWriter> exact_;
    Buffer doubts_;
    std::unique_ptr<TextCertifier> certifier_;
    TextDoubt bounds_{};
};

/// A sample as one writer writes it.
struct WrittenTexts {
    std::vector<std::byte> results;    // (items, output_bytes)
    std::vector<TextDoubt> doubts;     // (items); of a generator
    std::vector<ChoiceDoubt> choices;  // (items, max_new); of a decoder
};

/// That write_texts() takes of the device's memory while it works.
[[nodiscard]] std::uint64_t write_texts_bytes(const TextForm& form, std::uint32_t group);

/// `group` items at a time, for which `writer` was made on `device`. Waits for them.
[[nodiscard]] WrittenTexts write_texts(TextWriter& writer, const TextForm& form, std::uint32_t group, Device& device,
                                       Stream& stream, std::span<const std::byte> sample);

/// What a sample tells of a fast writer and an exact one: errors, of texts or choices that are alike, and how close the
/// fast one's other texts came. A choice among other tokens tells nothing.
struct SeenTexts {
    std::vector<SeenDoubts> alike;
    std::vector<TextDoubt> differing;
};
[[nodiscard]] SeenTexts compare_texts(const WrittenTexts& fast, const WrittenTexts& exact, const TextForm& form);

}  // namespace sluice
