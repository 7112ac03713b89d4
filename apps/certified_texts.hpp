#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
///
/// With a checker, which chooses as exactly as `exact`'s fast writer does, what the fast one has written is a draft: of
/// a text that came too close the checker makes the doubtful choices again, and only a text with one that differs, or
/// is doubtful again by `exact`'s own bounds, is written again.
class CertifiedTexts final : public TextWriter {
public:
    /// `fast` and `checker` were made for shape.max_items, `exact` for shape.batch, all on `device`.
    CertifiedTexts(const CertifierKernels& kernels, Device& device, const TextCertifierShape& shape,
                   std::unique_ptr<TextWriter> fast, std::unique_ptr<TextWriter> exact,
                   std::unique_ptr<TextChecker> checker = nullptr);

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override;
    [[nodiscard]] TextCounts counts() const override;

    /// Until then nothing is certain. `of_checks`: the bounds of `exact`; for a checker only.
    void set_bounds(const TextDoubt& bounds, const TextDoubt& of_checks = {});
    [[nodiscard]] const TextDoubt& bounds() const noexcept { return bounds_; }

    /// Texts that the exact one has written, in all that is done.
    [[nodiscard]] std::uint64_t recomputed() const { return certifier_->recomputed(); }

    /// Texts that the checker has looked at, likewise; none without one.
    [[nodiscard]] std::optional<std::uint64_t> checked() const {
        return checker_ == nullptr ? std::nullopt : std::optional(checker_->checked());
    }

    [[nodiscard]] TextWriter& fast() const noexcept { return *fast_; }
    [[nodiscard]] TextWriter& exact() const noexcept { return *exact_; }
    [[nodiscard]] const TextCertifierShape& shape() const noexcept { return shape_; }

private:
    TextCertifierShape shape_;
    std::unique_ptr<TextWriter> fast_;
    std::unique_ptr<TextWriter> exact_;
    Buffer doubts_;
    std::unique_ptr<TextChecker> checker_;  // or none
    Buffer choices_;                        // (items, max_new) ChoiceDoubt; with a checker
    std::unique_ptr<TextCertifier> certifier_;
    TextDoubt bounds_{};
};

/// A sample as one writer writes it.
struct WrittenTexts {
    std::vector<std::byte> results;    // (items, output_bytes)
    std::vector<TextDoubt> doubts;     // (items); of a generator
    std::vector<ChoiceDoubt> choices;  // (items, max_new); of a decoder
};

/// Of an item's choices, or text, in a sample or for a checker.
[[nodiscard]] std::uint64_t doubt_bytes_of(const TextForm& form);

/// That write_texts() takes of the device's memory while it works.
[[nodiscard]] std::uint64_t write_texts_bytes(const TextForm& form, std::uint32_t group);

/// `group` items at a time, for which `writer` was made on `device`. Waits for them.
[[nodiscard]] WrittenTexts write_texts(TextWriter& writer, const TextForm& form, std::uint32_t group, Device& device,
                                       Stream& stream, std::span<const std::byte> sample);

/// What a sample tells of a fast writer and an exact one: errors, of texts or choices that are alike, and how close the
/// fast one's others came: of a decoder's text, the first choice that differs. A choice among other tokens tells
/// nothing.
struct SeenTexts {
    std::vector<SeenDoubts> alike;
    std::vector<TextDoubt> differing;
};
[[nodiscard]] SeenTexts compare_texts(const WrittenTexts& fast, const WrittenTexts& exact, const TextForm& form);

}  // namespace sluice
