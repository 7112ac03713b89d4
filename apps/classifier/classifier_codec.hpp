#pragma once

#include "apps/classifier/alphabet.hpp"
#include "core/codec.hpp"

namespace sluice::classifier {

inline constexpr std::uint32_t classifier_classes = 4;

/// Sizes of an item and its label, with the classes' scores if `scores`.
[[nodiscard]] constexpr IoShape classifier_shape(bool scores) {
    constexpr auto label_bytes = static_cast<std::uint32_t>(sizeof(std::int32_t));
    constexpr auto score_bytes = static_cast<std::uint32_t>(classifier_classes * sizeof(float));
    return {classifier_length, label_bytes + (scores ? score_bytes : 0)};
}

/// Encodes text as classifier_length symbols, last character first (docs/classifier.md).
class ClassifierCodec final : public ItemCodec {
public:
    /// `names` of the classes are written after the label; empty: the label only.
    explicit ClassifierCodec(bool scores, std::vector<std::string> names = {})
        : scores_(scores), names_(std::move(names)) {}

    [[nodiscard]] IoShape shape() const noexcept override { return classifier_shape(scores_); }
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override;
    [[nodiscard]] std::optional<std::size_t> longest_text() const noexcept override { return classifier_length; }
    [[nodiscard]] std::vector<std::uint64_t> dense_shape() const override;
    [[nodiscard]] ItemProblem pack_dense(std::span<const float> dense, std::span<std::byte> to) const override;
    [[nodiscard]] bool has_packed_form() const noexcept override { return true; }
    [[nodiscard]] ItemProblem check_packed(std::span<const std::byte> item) const override;
    [[nodiscard]] std::vector<OutputField> output_fields() const override;

    /// Removes the label's nonfinite_mark.
    void decode(std::span<const std::byte> result, Row& row) const override;

    /// Without scores, counts labels that carry the mark.
    [[nodiscard]] std::uint64_t nonfinite(std::span<const std::byte> results) const override;
    void write_missing(std::span<std::byte> result) const override;

private:
    void decode_named(std::span<const std::byte> result, Row& row) const;

    bool scores_;
    std::vector<std::string> names_;
};

}  // namespace sluice::classifier
