#pragma once

#include "core/app.hpp"

namespace sluice {

inline constexpr std::uint32_t classifier_classes = 4;

/// Text as classifier_length symbols, the last character first (docs/classifier.md).
class ClassifierCodec final : public ItemCodec {
public:
    explicit ClassifierCodec(const AppOptions& options) : options_(options) {}

    [[nodiscard]] IoShape shape() const noexcept override;
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override;
    [[nodiscard]] std::vector<std::uint64_t> fat_shape() const override;
    [[nodiscard]] std::string pack_fat(std::span<const float> fat, std::span<std::byte> to) const override;
    [[nodiscard]] std::string check_wire(std::span<const std::byte> item) const override;
    [[nodiscard]] std::vector<OutputField> output_fields() const override;

    /// Takes the label's nonfinite_mark away.
    void decode(std::span<const std::byte> record, Row& row) const override;

    /// Without scores, the labels that are marked.
    [[nodiscard]] std::uint64_t nonfinite(std::span<const std::byte> records) const override;

private:
    AppOptions options_;
};

}  // namespace sluice
