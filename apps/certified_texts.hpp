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

/// Checks a fast writer's texts; without a checker they are not checked.
struct TextChecking {
    std::unique_ptr<TextWriter> writer = nullptr;    ///< More accurate than the fast one. Null: the exact one checks.
    std::unique_ptr<TextChecker> checker = nullptr;  ///< Made by it; corrected texts are among its counts.
};

/// Writes an exact writer's texts at nearly the speed of a fast one: the fast writer writes all texts, the exact writer
/// rewrites those with a doubtful choice. The exact writer may be certified itself. Doubts are the fast writer's;
/// a token's log-probability is that of the writer that chose it.
///
/// With a checker the fast writer's texts are drafts: the checker repeats the doubtful choices of a draft, and writes
/// the text from the first choice on that is another one. Only a text with a choice that is doubtful by the checker's
/// own bounds is rewritten.
class CertifiedTexts final : public TextWriter {
public:
    /// `fast` and the checker were made for shape.most_items, `exact` for shape.batch, all on `device`.
    CertifiedTexts(const CertifierKernels& kernels, Device& device, const TextCertifierShape& shape,
                   std::unique_ptr<TextWriter> fast, std::unique_ptr<TextWriter> exact, TextChecking checking = {});

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override;
    [[nodiscard]] TextCounts counts() const override;

    /// Before that no text is certain. `of_checks` are the bounds of the checking writer; 0 of one that is exact.
    void set_bounds(const TextDoubt& bounds, const TextDoubt& of_checks = {});
    [[nodiscard]] const TextDoubt& bounds() const noexcept { return bounds_; }

    /// Number of texts rewritten as a whole by the exact writer so far; call once the enqueued work is done.
    [[nodiscard]] std::uint64_t recomputed() const { return certifier_->recomputed(); }

    /// Null if nothing is checked.
    [[nodiscard]] const TextChecker* checker() const noexcept { return checking_.checker.get(); }

    [[nodiscard]] TextWriter& fast() const noexcept { return *fast_; }
    [[nodiscard]] TextWriter& exact() const noexcept { return *exact_; }
    /// The checking writer other than the exact one; null if there is none.
    [[nodiscard]] TextWriter* checking() const noexcept { return checking_.writer.get(); }
    [[nodiscard]] const TextCertifierShape& shape() const noexcept { return shape_; }

private:
    TextCertifierShape shape_;
    std::unique_ptr<TextWriter> fast_;
    std::unique_ptr<TextWriter> exact_;
    Buffer doubts_;
    TextChecking checking_;
    Buffer choices_;  // (items, max_new) ChoiceDoubt; with a checker
    std::unique_ptr<TextCertifier> certifier_;
    TextDoubt bounds_{};
};

/// A sample's texts by one writer.
struct WrittenTexts {
    std::vector<std::byte> results;    // (items, output_bytes)
    std::vector<TextDoubt> doubts;     // (items); of a generator
    std::vector<ChoiceDoubt> choices;  // (items, max_new); of a decoder
};

/// Bytes of an item's doubts in a sample or for a checker.
[[nodiscard]] std::uint64_t doubt_bytes_of(const TextForm& form);

/// Device memory that write_texts() uses temporarily.
[[nodiscard]] std::uint64_t write_texts_bytes(const TextForm& form, std::uint32_t group);

/// Writes `group` items at a time, for which `writer` was made on `device`. Blocks until done.
[[nodiscard]] WrittenTexts write_texts(TextWriter& writer, const TextForm& form, std::uint32_t group, Device& device,
                                       Stream& stream, std::span<const std::byte> sample);

/// Comparison of a fast and an exact writer on a sample: errors of equal texts or choices, and doubts of the fast
/// writer's texts that differ; for a decoder, of the first choice that differs. Choices among other tokens are ignored.
struct SeenTexts {
    std::vector<SeenDoubts> alike;
    std::vector<TextDoubt> differing;
};
[[nodiscard]] SeenTexts compare_texts(const WrittenTexts& fast, const WrittenTexts& exact, const TextForm& form);

}  // namespace sluice
