#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec.hpp"
#include "core/error.hpp"

namespace sluice::test {

/// Codec of an app whose results are numbers in binary form, and whose items are empty.
class FieldsCodec : public ItemCodec {
public:
    explicit FieldsCodec(std::vector<OutputField> fields) : fields_(std::move(fields)) {}

    [[nodiscard]] IoShape shape() const noexcept override {
        std::uint32_t values = 0;
        for (const OutputField& field : fields_) {
            values += field.count;
        }
        return {1, values * 4};
    }
    void encode(std::uint64_t, std::string_view, std::span<std::byte>) const override {}
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return fields_; }

private:
    std::vector<OutputField> fields_;
};

/// Codec of an app whose results are one text each, of at most `longest` bytes: two bytes of length, 65535 for a
/// missing text, then the text.
class TextCodec final : public FieldsCodec {
public:
    explicit TextCodec(std::uint32_t longest, std::string name = "text")
        : FieldsCodec({{.name = std::move(name), .type = FieldType::text, .count = 1}}), longest_(longest) {
        expects(longest < missing_length, "a text's length has two bytes");
    }

    [[nodiscard]] IoShape shape() const noexcept override { return {1, length_bytes + longest_}; }
    void decode(std::span<const std::byte> result, Row& row) const override {
        std::uint16_t length = 0;
        std::memcpy(&length, result.data(), sizeof length);
        if (length == missing_length) {
            row.missing();
        } else {
            row.text({reinterpret_cast<const char*>(result.data()) + length_bytes, length});
        }
    }
    void write_missing(std::span<std::byte> result) const override {
        std::memcpy(result.data(), &missing_length, sizeof missing_length);
    }

    /// Results that hold `texts`.
    [[nodiscard]] std::vector<std::byte> results(std::span<const std::string> texts) const {
        const std::size_t bytes = shape().output_bytes;
        std::vector<std::byte> results(texts.size() * bytes);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::string& text = texts[i];
            expects(text.size() <= longest_, "a text fits into its result");
            const auto length = static_cast<std::uint16_t>(text.size());
            std::memcpy(results.data() + i * bytes, &length, sizeof length);
            std::memcpy(results.data() + i * bytes + length_bytes, text.data(), text.size());
        }
        return results;
    }

private:
    static constexpr std::uint32_t length_bytes = sizeof(std::uint16_t);
    static constexpr std::uint16_t missing_length = 0xFFFF;

    std::uint32_t longest_;
};

}  // namespace sluice::test
