#pragma once

#include "apps/classifier/alphabet.hpp"
#include "core/codec.hpp"

namespace sluice {

inline constexpr std::uint32_t classifier_classes = 4;

/// Of an item and its label, with the classes' scores where they are part of the output.
[[nodiscard]] constexpr IoShape classifier_shape(bool scores) {
    constexpr auto label_bytes = static_cast<std::uint32_t>(sizeof(std::int32_t));
    constexpr auto score_bytes = static_cast<std::uint32_t>(classifier_classes * sizeof(float));
    return {classifier_length, label_bytes + (scores ? score_bytes : 0)};
}

/// Text as classifier_length symbols, the last character first (docs/classifier.md).
class ClassifierCodec final : public ItemCodec {
public:
    /// `names`: the classes', to be written behind the label; none: it stands by itself.
    explicit ClassifierCodec(bool scores, std::vector<std::string> names = {})
        : scores_(scores), names_(std::move(names)) {}

    [[nodiscard]] IoShape shape() const noexcept override { return classifier_shape(scores_); }
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override;
    [[nodiscard]] std::vector<std::uint64_t> dense_shape() const override;
    [[nodiscard]] std::string pack_dense(std::span<const float> dense, std::span<std::byte> to) const override;
    [[nodiscard]] std::string check_packed(std::span<const std::byte> item) const override;
    [[nodiscard]] std::vector<OutputField> output_fields() const override;

    /// Takes the label's nonfinite_mark away.
    void decode(std::span<const std::byte> result, Row& row) const override;

    /// Without scores, the labels that are marked.
    [[nodiscard]] std::uint64_t nonfinite(std::span<const std::byte> results) const override;
    void write_missing(std::span<std::byte> result) const override;

private:
    void decode_named(std::span<const std::byte> result, Row& row) const;

    bool scores_;
    std::vector<std::string> names_;
};

}  // namespace sluice
